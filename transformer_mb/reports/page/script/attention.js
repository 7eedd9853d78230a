// Where each token looks: a table of weights, by sentence, by what looks at what, by layer and head.

const KINDS = [
  { field: "weights", name: "translation to source", rows: "target", columns: "source", words: "rows are tokens of the translation, columns of the source" },
  { field: "encoder", name: "within the source", rows: "source", columns: "source", words: "rows and columns are tokens of the source" },
  { field: "decoder", name: "within the translation", rows: "inputs", columns: "inputs", words: "rows and columns are what the decoder read; none looks ahead" },
];

function drawAttention(section, content) {
  const { sentences } = section.data;
  const state = { sentence: "0", kind: "weights", layer: "0", head: "mean" };
  const place = make("div", { class: "frame", tabindex: "0", role: "region", "aria-label": "Attention weights" });
  const tools = make("div", { class: "tools" });
  const sentence = () => sentences[Number(state.sentence)];

  const weightsOf = (layer) => {
    if (state.head !== "mean") return layer[Number(state.head)];
    return layer[0].map((row, t) => row.map((_, s) => layer.reduce((sum, head) => sum + head[t][s], 0) / layer.length));
  };
  const show = () => {
    const kind = KINDS.find(({ field }) => field === state.kind);
    const [rows, columns] = [sentence()[kind.rows], sentence()[kind.columns]];
    const values = weightsOf(sentence()[kind.field][Number(state.layer)]);
    const caption = `Layer ${Number(state.layer) + 1}, ${state.head === "mean" ? "mean of all heads" : `head ${Number(state.head) + 1}`}: ${kind.words}; each row sums to 1.`;
    place.replaceChildren(make("table", { class: "heat" }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, make("td", {}), columns.map((token) => make("th", { scope: "col" }, token)))),
      make("tbody", {}, rows.map((token, t) => make("tr", {}, make("th", { scope: "row" }, token),
        values[t].map((weight) => make("td", { class: step(weight) }, weight < 0.005 ? "0" : weight.toFixed(2).replace(/^0/, ""))))))));
  };
  const pick = (name) => (value) => { state[name] = value; show(); };
  // Another kind may have other numbers of layers and heads.
  const details = make("div", { class: "tools" });
  const pickKind = (kind) => {
    const weights = sentence()[kind];
    Object.assign(state, { kind, layer: String(weights.length - 1), head: "mean" });
    const numbers = (count) => Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);
    details.replaceChildren(
      segments("Layer", `${section.id}-layer`, numbers(weights.length), state.layer, pick("layer")),
      segments("Head", `${section.id}-head`, [["mean", "mean"], ...numbers(weights[0].length)], state.head, pick("head")));
    show();
  };
  const switches = () => {
    const there = KINDS.filter(({ field }) => field in sentence());
    const kind = there.some(({ field }) => field === state.kind) ? state.kind : "weights";
    tools.replaceChildren(labelled("Sentence", select, true),
      ...(there.length > 1 ? [segments("Attention", `${section.id}-kind`, there.map(({ field, name }) => [field, name]), kind, pickKind)] : []), details);
    pickKind(kind);
  };
  const select = choice(sentences.map(({ source, target }, i) => [String(i), `${source.join(" ")} → ${target.join(" ")}`]), (event) => { state.sentence = event.target.value; switches(); });
  content.append(tools, place, scaleLegend("Weight:", "0", "1"));
  switches();
}
