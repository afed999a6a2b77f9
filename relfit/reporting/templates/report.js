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
// what if: between sizes, hazards and rates are straight lines, as in relfit.planning.job_questions
for (const panel of document.querySelectorAll(".panel")) {
  const grid = JSON.parse(panel.dataset.grid);
  const field = (name) => panel.querySelector("#w-" + name);
  const most = grid.nodes[grid.nodes.length - 1];
  const sizes = [...new Set(Array.from({ length: 121 }, (_, i) => Math.round(most ** (i / 120))))];
  const saves = [0.5, 1, 2, 5, 10, 15, 30, 60];  // minutes
  const between = (size, values, sizes = grid.nodes) => {
    let i = 0;
    while (i < values.length - 2 && sizes[i + 1] < size) i += 1;
    if (sizes.length < 2 || values[i] === null || size === sizes[i]) return values[i];
    if (values[i + 1] === null) return null;
    return values[i] + ((values[i + 1] - values[i]) * (size - sizes[i])) / (sizes[i + 1] - sizes[i]);
  };
  const short = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))));
  const hours = (value) => {
    const units = [[1 / 60, "second", 1 / 3600], [1, "minute", 1 / 60], [72, "hour", 1], [17532, "day", 24]];
    const [, unit, length] = units.find(([limit]) => value < limit) || [0, "year", 8766];
    const number = short(value / length);
    return `${number} ${unit}${number === "1" ? "" : "s"}`;
  };
  const percent = (share) => (share > 0 && share < 5e-5 ? "< 0.01 %" : `${Number((100 * share).toPrecision(2))} %`);
  const setUp = (name, stops, at, text) => {
    const input = field(name);
    Object.assign(input, { min: 0, max: stops.length - 1, step: 1, value: at });
    return () => {
      const shown = text(stops[Number(input.value)]);
      input.nextElementSibling.textContent = shown;
      input.setAttribute("aria-valuetext", shown);
      return stops[Number(input.value)];
    };
  };
  const nearest = sizes.reduce((best, size, i) => (Math.abs(size - grid.size) < Math.abs(sizes[best] - grid.size) ? i : best), 0);
  sizes[nearest] = grid.size;
  const nodes = setUp("nodes", sizes, nearest, (size) => size.toLocaleString("en"));
  const length = setUp("hours", grid.hours, Math.max(grid.hours.indexOf(24), 0), (value) => `${value} h`);
  const save = setUp("save", saves, 3, (value) => `${value} min`);
  const spares = setUp("spares", grid.spares, 0, String);
  const answer = () => {
    const size = nodes(), of = grid.hours.indexOf(length()), cost = save() / 60, ready = grid.spares.indexOf(spares());
    const half = field("half").checked ? 1 : 0, gone = field("gone") && field("gone").checked ? 1 : 0;
    const hazard = between(size, grid.hazard.map((row) => row[of]));
    const fewer = 1 - gone * grid.excess * between(size, grid.own);
    const mtbf = 1 / between(size, grid.mtbf[gone].map((value) => 1 / value));
    const waits = grid.wait[gone][half][ready].map((value) => Math.log(Math.max(value, 1e-12)));
    const wait = Math.exp(between(Math.log(size), waits, grid.nodes.map(Math.log)));
    let x = Math.min(Math.sqrt((2 * cost) / mtbf), 0.9);  // work between saves, in mean times between failures
    for (let i = 0; i < 60; i += 1) {
      const miss = Math.exp(-x - cost / mtbf);
      x -= (1 - x - miss) / (miss - 1);
    }
    const every = x * mtbf;
    const total = (mtbf + wait) * Math.exp(cost / mtbf) * Math.expm1((every + cost) / mtbf);
    const survives = Math.exp(-hazard * fewer), evenly = Math.exp(-grid.hours[of] / mtbf);
    const even = Math.abs(evenly - survives) < 0.02 ? "" : ` (${percent(evenly)} if failures came evenly)`;
    const runs = hazard === null ? "Whether such a job runs through is not known." : `${percent(survives)} of such jobs meet no failure${even}.`;
    panel.querySelector(".answer").textContent = `${runs} One comes every ${hours(mtbf)} on average. Checkpoint every ${hours(every)}: ${percent(1 - every / total)} of the time is lost.`;
  };
  panel.addEventListener("input", answer);
  panel.addEventListener("submit", (event) => event.preventDefault());
  answer();
}
