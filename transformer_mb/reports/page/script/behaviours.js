// What frameworks do by default: a line per fact, which opens to what it means.

// An issue's or a page's address, as far as its short form tells it.
function source(text) {
  const issue = /^([\w.-]+\/[\w.-]+)#(\d+)$/.exec(text);
  const href = issue ? `https://github.com/${issue[1]}/issues/${issue[2]}` : /^[\w.-]+\.[a-z]{2,}\//.test(text) ? `https://${text}` : null;
  return href ? make("a", { href, rel: "noreferrer noopener" }, text) : text;
}

function answersOf(row) {
  const byAnswer = new Map();
  for (const [framework, value] of Object.entries(row.values)) byAnswer.set(value, [...(byAnswer.get(value) || []), framework]);
  return [...byAnswer].sort((a, b) => (a[0] === "has none") - (b[0] === "has none") || b[1].length - a[1].length);
}

function effectWords({ name, one, other, moved }) {
  return `${name}: ${other} instead of ${one} moves the loss by ${signed(moved.mean)} of the seeds' deviation, between ${signed(moved.low)} and ${signed(moved.high)} (95 %).`;
}

function drawBehaviours(section, content) {
  const { rows, frameworks } = section.data;
  const state = { text: [], framework: "", topic: "", which: "differing" };
  const largest = Math.max(1, ...rows.map((row) => row.moves));
  const list = make("div", { class: "frame" });
  const count = make("p", { class: "count", role: "status" });
  const alone = (row, framework) => {
    const answers = answersOf(row).filter(([value]) => value !== "has none");
    const own = answers.find(([, some]) => some.includes(framework));
    return own && own[1].length === 1 && answers.some(([, some]) => some.length > 1);
  };
  const keeps = (row) =>
    (!state.topic || row.topic === state.topic) &&
    (state.which === "all" || (state.which === "surprising" ? row.surprise : state.which === "moving" ? row.moves >= 0 : row.answers > 1)) &&
    (!state.framework || alone(row, state.framework)) &&
    state.text.every((word) => row.search.includes(word));
  for (const row of rows) row.search = [row.name, row.question, row.meaning, row.topic, ...Object.values(row.values)].join(" ").toLowerCase();

  const effect = (row) => {
    if (row.moves < 0) return make("span", { class: "effect quiet" }, "");
    const words = `moves the loss by ${row.moves.toFixed(2)} deviations`;
    return make("span", { class: "effect" }, interval({ mid: row.moves }, (value) => Math.sqrt(value / largest), words, { width: 120 }), words);
  };
  const more = (row) => make("div", { class: "more" },
    make("p", {}, make("strong", {}, row.question)),
    ...(row.surprise ? [make("p", {}, row.surprise)] : []),
    make("p", {}, row.meaning, row.setting ? ` To have it otherwise: ${row.setting[0].toLowerCase()}${row.setting.slice(1)}` : ""),
    ...row.effects.map((one) => make("p", {}, effectWords(one))),
    ...[...new Set(Object.values(row.reasons))].map((reason) => make("p", { class: "quiet" }, reason)),
    ...(row.sources.length ? [make("p", { class: "quiet" }, "Sources: ", ...row.sources.flatMap((one, i) => [i ? ", " : "", source(one)]))] : []));
  const line = (row) => {
    const fact = make("details", { class: "fact" }, make("summary", {}, make("b", {}, row.name),
      make("span", { class: "answers" }, answersOf(row).map(([value, some]) => make("span", { class: value === "has none" ? "quiet" : null }, make("em", {}, value), `: ${some.join(", ")}`))),
      effect(row)));
    fact.addEventListener("toggle", () => { if (fact.open && fact.childElementCount === 1) fact.append(more(row)); });
    return fact;
  };
  const show = () => {
    const shown = rows.filter(keeps);
    list.replaceChildren(...shown.map(line));
    count.textContent = `${shown.length} of ${many(rows.length, "fact")}, the largest measured effect on a training first.`;
  };
  const change = (name) => (event) => { state[name] = event.target.value; show(); };
  const topics = [...new Set(rows.map((row) => row.topic))].filter(Boolean);
  content.append(
    make("div", { class: "tools" },
      labelled("Search", make("input", { type: "search", placeholder: "such as epsilon", oninput: (event) => { state.text = event.target.value.toLowerCase().split(/\s+/).filter(Boolean); show(); } }), true),
      labelled("Show", choice([["differing", "where they differ"], ["surprising", "what surprises"], ["moving", "with a measured effect"], ["all", "all"]], change("which"))),
      labelled("Who differs alone", choice([["", "anyone"], ...frameworks.map((one) => [one, one])], change("framework"))),
      labelled("Topic", choice([["", "all"], ...topics.map((one) => [one, one])], change("topic")))),
    count, list);
  show();
}
