"use strict";
// downloads: the whole table is kept as CSV in a JSON string beside it
for (const button of document.querySelectorAll("button.download")) {
  button.addEventListener("click", async () => {
    const store = document.getElementById("csv-" + button.dataset.table);
    let content;
    if (store.dataset.stored === "gzip") {
      const packed = Uint8Array.from(atob(store.textContent), (c) => c.charCodeAt(0));
      const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      content = await new Response(plain).blob();
    } else {
      content = JSON.parse(store.textContent);
    }
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type: "text/csv;charset=utf-8" }));
    link.download = button.dataset.table + ".csv";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}
// tables that are wider than the page say so
const sideways = () => {
  for (const box of document.querySelectorAll(".scroll")) {
    const note = box.parentElement.querySelector(".sideways");
    if (note) note.textContent = box.scrollWidth > box.clientWidth + 1 ? "Scroll sideways for more columns." : "";
  }
};
sideways();
addEventListener("resize", sideways);
for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", sideways);
// sorting: only tables that are shown whole
const value = (row, column) => row.cells[column].textContent.trim();
const amount = (text) => (text === "∞" ? Infinity : text === "–" ? NaN : Number(text.replace(/[,%\s]/g, "")));
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      const sign = rising ? 1 : -1;
      const numeric = head.classList.contains("number");
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const left = value(a, column), right = value(b, column);
        if (!numeric) return sign * left.localeCompare(right, undefined, { numeric: true });
        const x = amount(left), y = amount(right);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return sign * (x < y ? -1 : x > y ? 1 : 0);
      });
      table.tBodies[0].append(...rows);
    });
  });
}
