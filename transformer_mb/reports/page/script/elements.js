"use strict";
// Elements made by code: what a record says becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function labelled(label, control, wide = false) {
  return make("label", { class: wide ? "wide" : null }, label, control);
}

function choice(options, onchange) {
  return make("select", { onchange }, options.map(([value, text]) => make("option", { value }, text)));
}

// Radio buttons in a row; arrow keys switch, as in every group of them.
function segments(legend, name, options, chosen, onchange) {
  const inputs = options.map(([value, text]) =>
    make("label", {}, make("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onchange(value) }), make("span", {}, text)));
  return make("fieldset", { class: "segments" }, make("legend", {}, legend), make("div", {}, inputs));
}

function table(caption, heads, rows, numbers = []) {
  const side = (column) => (numbers.includes(column) ? "number" : null);
  return make("div", { class: "frame", tabindex: "0", role: "region", "aria-label": caption },
    make("table", {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, heads.map((head, i) => make("th", { scope: "col", class: side(i) }, head)))),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, i) =>
        i ? make("td", { class: side(i) }, cell) : make("th", { scope: "row" }, cell)))))));
}

const small = (value) => (value === null || value === undefined ? "not measured" : value === 0 ? "0" : value.toExponential(1).replace(/e([+-])(\d)$/, "e$10$2"));
const short = (value) => (value === null || value === undefined ? "" : Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))));
const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
const many = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
