// Search, sort, copy and save tables; two sliders. The page is complete without it.
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

  // Names come from data: a spreadsheet must show them, not compute them as formulas. Numbers stay as they are.
  const shown = (text) => (/^[=+\-@\t\r\n]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text);
  const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const field = (text) => quoted(shown(text));
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
    const status = block.querySelector(".status");
    block.querySelector("input[type=search]")?.addEventListener("input", (event) => {
      const wanted = event.target.value.toLowerCase();
      const rows = all("tbody tr", table);
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); });
      const shown = rows.filter((row) => !row.hidden).length;
      status.textContent = wanted ? `${shown} of ${rows.length}` : "";
    });
    block.querySelector("[data-act=copy]").addEventListener("click", (event) => copy(csv(table), event.currentTarget));
    block.querySelector("[data-act=csv]").addEventListener("click", () => save(block.dataset.file, csv(table)));
  }
  all(".copy").forEach((button) => button.addEventListener("click", () => copy(button.dataset.copy, button)));

  // The slider for the cut-off moves the line in the chart, counts the features kept and adapts the command.
  const percent = (share) => `${Math.round(100 * share)} %`;
  for (const box of all("[data-cut]")) {
    const [input, result, button] = [box.querySelector("input"), box.querySelector("output"), box.querySelector(".copy")];
    const shares = box.dataset.cut.split(" ").map((pair) => pair.split(":").map(Number));
    const total = shares.reduce((sum, pair) => sum + pair[1], 0);
    const line = document.querySelector("line.cut");
    const move = () => {
      const at = Number(input.value);
      const kept = shares.filter((pair) => pair[0] >= at - 1e-9).reduce((sum, pair) => sum + pair[1], 0);
      input.setAttribute("aria-valuetext", percent(at));
      result.textContent = `At ${percent(at)}: ${kept} of ${total} features kept, ${total - kept} dropped.`;
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

  // The slider for the q-value shows the names of the confirmed features, counts them and adapts the command.
  for (const box of all("[data-fdr]")) {
    const [input, result, button] = [box.querySelector("input"), box.querySelector("output"), box.querySelector(".copy")];
    const names = all("ol.confirmed > li");
    const move = () => {
      const at = Number(input.value);
      let confirmed = 0;
      for (const name of names) {
        name.hidden = Number(name.dataset.q) > at + 1e-9;
        confirmed += name.hidden ? 0 : 1;
      }
      const expected = (at * confirmed).toFixed(1);
      result.textContent = `q ≤ ${at}: ${confirmed} ${confirmed === 1 ? "feature" : "features"} confirmed; at most ${expected} of them expected to be false discoveries.`;
      button.dataset.copy = box.dataset.command.replace("{}", String(at));
      box.querySelector("code").textContent = button.dataset.copy;
    };
    input.addEventListener("input", move);
    box.hidden = false;
    move();
  }

  // The slider for the size shows the held-out estimate of the size path and adapts the command.
  for (const box of all("[data-sizes]")) {
    const [input, result, button] = [box.querySelector("input"), box.querySelector("output"), box.querySelector(".copy")];
    const steps = box.dataset.sizes.split(" ").map((part) => part.split("=")).map(([size, estimate]) => [Number(size), estimate.replaceAll("_", " ")]);
    const move = () => {
      const size = Number(input.value);
      const same = steps.find((step) => step[0] === size);
      const larger = steps.filter((step) => step[0] > size).at(-1);
      const smaller = steps.find((step) => step[0] < size);
      const described = (step) => `${step[0]} features: ${box.dataset.metric} ${step[1]}`;
      const nearest = [larger, smaller].filter(Boolean).map(described).join("; ");
      input.setAttribute("aria-valuetext", `${size} features`);
      result.textContent = same ? `${described(same)}.` : `${size} features: no held-out estimate. Nearest sizes: ${nearest}.`;
      button.dataset.copy = box.dataset.command.replace("{}", String(size));
      box.querySelector("code").textContent = button.dataset.copy;
    };
    input.addEventListener("input", move);
    box.hidden = false;
    move();
  }

  // Printing opens all details; they close again afterwards.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details:not([open])");
    closed.forEach((part) => { part.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((part) => { part.open = false; }));
})();
