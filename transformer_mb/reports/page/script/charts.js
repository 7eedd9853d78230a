// A mark with its interval on a line, as SVG of one table cell.

// values: {low, mid, high}. scale: from a value to a place between 0 and 1.
function interval(values, scale, words, { band = null, zero = null, target = null, width = 220 } = {}) {
  const x = (value) => 6 + Math.max(0, Math.min(1, scale(value))) * (width - 12);
  const line = (value, kind) => draw("line", { class: kind, x1: x(value), x2: x(value), y1: 2, y2: 20 });
  return draw("svg", { width, height: 22, viewBox: `0 0 ${width} 22`, role: "img", "aria-label": words },
    band && draw("rect", { class: "band", x: x(band[0]), width: x(band[1]) - x(band[0]), y: 1, height: 20 }),
    draw("line", { class: "axis", x1: 6, x2: width - 6, y1: 11, y2: 11 }),
    zero !== null ? line(zero, "zero") : null,
    target !== null ? line(target, "target") : null,
    values.low !== null && values.low !== undefined ? draw("line", { class: "span", x1: x(values.low), x2: x(values.high), y1: 11, y2: 11 }) : null,
    draw("circle", { class: "mark", cx: x(values.mid), cy: 11, r: 4 }));
}

const linear = (from, to) => (value) => (value - from) / (to - from);
const logarithmic = (from, to) => (value) => Math.log(value / from) / Math.log(to / from);

// A share of a limit in one of ten colors of viridis; the text beside it says the same.
const step = (share) => `s${Math.max(0, Math.min(9, Math.floor(share * 10)))}`;

function scaleLegend(words, low, high) {
  return make("p", { class: "scale" }, words, " ", low,
    make("span", { "aria-hidden": "true" }, Array.from({ length: 10 }, (_, i) => make("i", { class: `s${i}` }))), high);
}
