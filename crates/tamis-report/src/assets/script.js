// Search, sort, copy, save, and two sliders. Without it the page is whole; with it, it answers "what if".
"use strict";
(() => {
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const value = (cell) => cell.dataset.v ?? cell.textContent;
  const copy = async (text, button) => {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const area = document.createElement("textarea");
      area.value = text;
      document.body.append(area);
      area.select();
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl-C";
      area.remove();
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  };

  const field = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const code = (cell) => (cell.querySelector("code") ?? cell).textContent;
  const csv = (table) => {
    const head = all("thead th button", table).map((button) => field(button.textContent));
    const rows = all("tbody tr", table).filter((row) => !row.hidden);
    const lines = rows.map((row) => all("td", row).map((cell) => field(cell.dataset.v ?? code(cell))));
    return [head, ...lines].map((line) => line.join(",")).join("\r\n") + "\r\n";
  };
  const save = (name, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  const order = new Intl.Collator(undefined, { numeric: true });
  const sort = (table, heading) => {
    const at = all("th", table).indexOf(heading);
    const numbers = heading.classList.contains("n");
    const down = heading.hasAttribute("aria-sort") ? heading.getAttribute("aria-sort") === "ascending" : numbers;
    all("th", table).forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => value(row.children[at]);
    const size = (text) => (text === "" ? NaN : Math.abs(Number(text)));
    const compare = (a, b) => {
      if (!numbers) return order.compare(a, b);
      const [x, y] = [size(a), size(b)];
      return Number.isNaN(x) - Number.isNaN(y) || x - y;
    };
    const body = table.querySelector("tbody");
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
    body.append(...rows.map((pair) => pair[1]));
  };

  for (const block of all(".table")) {
    const table = block.querySelector("table");
    block.querySelector(".tools").hidden = false;
    all("th button", table).forEach((button) => button.addEventListener("click", () => sort(table, button.parentNode)));
    const said = block.querySelector(".said");
    block.querySelector("input[type=search]")?.addEventListener("input", (event) => {
      const wanted = event.target.value.toLowerCase();
      const rows = all("tbody tr", table);
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
      const shown = rows.filter((row) => !row.hidden).length;
      said.textContent = wanted ? `${shown} of ${rows.length}` : "";
    });
    block.querySelector("[data-act=copy]").addEventListener("click", (event) => copy(csv(table), event.currentTarget));
    block.querySelector("[data-act=csv]").addEventListener("click", () => save(block.dataset.file, csv(table)));
  }
  all(".copy").forEach((button) => button.addEventListener("click", () => copy(button.dataset.copy, button)));

  // A cut-off that can be moved: the line in the picture, how many features stay, and the command.
  const percent = (share) => `${Math.round(100 * share)} %`;
  for (const box of all("[data-cut]")) {
    const [input, said, button] = [box.querySelector("input"), box.querySelector("output"), box.querySelector(".copy")];
    const shares = box.dataset.cut.split(" ").map((pair) => pair.split(":").map(Number));
    const total = shares.reduce((sum, pair) => sum + pair[1], 0);
    const line = document.querySelector("line.cut");
    const move = () => {
      const at = Number(input.value);
      const stay = shares.filter((pair) => pair[0] >= at - 1e-9).reduce((sum, pair) => sum + pair[1], 0);
      input.setAttribute("aria-valuetext", percent(at));
      said.textContent = `At ${percent(at)}: ${stay} of ${total} features stay, ${total - stay} ${total - stay === 1 ? "leaves" : "leave"}.`;
      if (button) {
        button.dataset.copy = box.dataset.command.replace("{}", String(at));
        box.querySelector("code").textContent = button.dataset.copy;
      }
      if (line) {
        const y = Number(line.dataset.top) + (1 - at) * Number(line.dataset.height);
        line.setAttribute("y1", y);
        line.setAttribute("y2", y);
      }
    };
    input.addEventListener("input", move);
    box.hidden = false;
    move();
  }

  // Another number of features: what the ladder says of it, and the command.
  for (const box of all("[data-sizes]")) {
    const [input, said, button] = [box.querySelector("input"), box.querySelector("output"), box.querySelector(".copy")];
    const rungs = box.dataset.sizes.split(" ").map((part) => part.split("=")).map(([size, worth]) => [Number(size), worth.replaceAll("_", " ")]);
    const move = () => {
      const size = Number(input.value);
      const same = rungs.find((rung) => rung[0] === size);
      const larger = rungs.filter((rung) => rung[0] > size).at(-1);
      const smaller = rungs.find((rung) => rung[0] < size);
      const told = (rung) => `${rung[0]} features have ${box.dataset.measure} ${rung[1]}`;
      const between = [larger, smaller].filter(Boolean).map(told).join("; ");
      input.setAttribute("aria-valuetext", `${size} features`);
      said.textContent = same ? `${told(same)}.` : `${size} features: not measured itself; ${between}.`;
      button.dataset.copy = box.dataset.command.replace("{}", String(size));
      box.querySelector("code").textContent = button.dataset.copy;
    };
    input.addEventListener("input", move);
    box.hidden = false;
    move();
  }

  // On paper everything is open, and closes again afterwards.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
})();
