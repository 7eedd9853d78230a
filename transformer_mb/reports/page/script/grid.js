// One tab stop for a table of buttons: arrows, Home, End and the page keys move among them.

function gridKeys(grid) {
  const rows = () => [...grid.querySelectorAll("tr")].map((row) => [...row.querySelectorAll("button")]).filter((row) => row.length);
  const placed = (rowsNow, button) => {
    const row = rowsNow.findIndex((one) => one.includes(button));
    return [row, button.closest("td, th").cellIndex];
  };
  const go = (button) => {
    for (const other of grid.querySelectorAll('button[tabindex="0"]')) other.tabIndex = -1;
    button.tabIndex = 0;
  };
  grid.addEventListener("focusin", (event) => { if (event.target.matches("button")) go(event.target); });
  grid.addEventListener("keydown", (event) => {
    const button = event.target.closest("button");
    const page = 10;
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-page, 0], PageDown: [page, 0] };
    if (!button || !(event.key in moves || event.key === "Home" || event.key === "End")) return;
    event.preventDefault();
    const rowsNow = rows();
    const [row, column] = placed(rowsNow, button);
    const own = rowsNow[row];
    let next;
    if (event.key === "Home" || event.key === "End") {
      const target = event.ctrlKey ? (event.key === "Home" ? rowsNow[0] : rowsNow.at(-1)) : own;
      next = event.key === "Home" ? target[0] : target.at(-1);
    } else if (moves[event.key][0]) {
      const target = rowsNow[Math.max(0, Math.min(rowsNow.length - 1, row + moves[event.key][0]))];
      next = target.reduce((best, one) =>
        Math.abs(one.closest("td, th").cellIndex - column) < Math.abs(best.closest("td, th").cellIndex - column) ? one : best);
    } else {
      next = own[Math.max(0, Math.min(own.length - 1, own.indexOf(button) + moves[event.key][1]))];
    }
    go(next);
    next.focus();
  });
  return () => {
    if (!grid.querySelector('button[tabindex="0"]')) grid.querySelector("button")?.setAttribute("tabindex", "0");
  };
}
