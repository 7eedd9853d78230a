// Where each token of a translation looks: a table of weights, by sentence, layer and head.

function drawAttention(section, content) {
  const { sentences } = section.data;
  const state = { sentence: "0", layer: "0", head: "mean" };
  const place = make("div", { class: "frame", tabindex: "0", role: "region", "aria-label": "Attention weights" });
  const tools = make("div", { class: "tools" });

  const weightsOf = (layer) => {
    if (state.head !== "mean") return layer[Number(state.head)];
    return layer[0].map((row, t) => row.map((_, s) => layer.reduce((sum, head) => sum + head[t][s], 0) / layer.length));
  };
  const show = () => {
    const { source, target, weights } = sentences[Number(state.sentence)];
    const values = weightsOf(weights[Number(state.layer)]);
    const caption = `Layer ${Number(state.layer) + 1}, ${state.head === "mean" ? "mean of all heads" : `head ${Number(state.head) + 1}`}: rows are tokens of the translation, columns of the source; each row sums to 1.`;
    place.replaceChildren(make("table", { class: "heat" }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, make("td", {}), source.map((token) => make("th", { scope: "col" }, token)))),
      make("tbody", {}, target.map((token, t) => make("tr", {}, make("th", { scope: "row" }, token),
        values[t].map((weight) => make("td", { class: step(weight) }, weight < 0.005 ? "0" : weight.toFixed(2).replace(/^0/, ""))))))));
  };
  const pick = (name) => (value) => { state[name] = value; show(); };
  const switches = () => {
    const { weights } = sentences[Number(state.sentence)];
    state.layer = String(weights.length - 1);
    state.head = "mean";
    const numbers = (count) => Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);
    tools.replaceChildren(
      labelled("Sentence", select, true),
      segments("Layer", `${section.id}-layer`, numbers(weights.length), state.layer, pick("layer")),
      segments("Head", `${section.id}-head`, [["mean", "mean"], ...numbers(weights[0].length)], state.head, pick("head")));
    show();
  };
  const select = choice(sentences.map(({ source, target }, i) => [String(i), `${source.join(" ")} → ${target.join(" ")}`]), (event) => { state.sentence = event.target.value; switches(); });
  content.append(tools, place, scaleLegend("Weight:", "0", "1"));
  switches();
}
