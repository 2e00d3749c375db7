// Bundles: what begins and ends at about the same time and went alike is drawn as one.

const apart = (a, b) => (a === null || b === null ? (a === b ? 0 : Infinity) : Math.abs(a - b));

// Each item joins the first bundle of its kind that began, and whose first item ended, within the quantum of it.
function gather(items, quantum) {
  const kinds = new Map();
  for (const item of items) {
    if (!kinds.has(item.kind)) kinds.set(item.kind, []);
    const bundles = kinds.get(item.kind);
    const bundle = bundles.find(({ items: [first] }) => item.start - first.start <= quantum && apart(item.end, first.end) <= quantum);
    if (!bundle) {
      bundles.push({ ...item, count: 1, items: [item] });
      continue;
    }
    bundle.count += 1;
    bundle.items.push(item);
    if (item.end !== null) bundle.end = Math.max(bundle.end, item.end);
  }
  return [...kinds.values()].flat();
}

// At most `most` bundles of items `{start, end | null, kind}`, in the order in which they begin. The quantum, the time within
// which two are alike, grows until there are few enough.
export function bundle(unsorted, quantum, most) {
  const items = [...unsorted].sort((a, b) => a.start - b.start);
  let bundles = gather(items, quantum);
  for (let coarse = quantum; bundles.length > most && coarse < quantum * 4096; ) {
    coarse *= 2;
    bundles = gather(items, coarse);
  }
  return bundles.sort((a, b) => a.start - b.start || b.count - a.count || (a.end ?? Infinity) - (b.end ?? Infinity));
}

// Puts what overlaps by more than the slack into rows of its own; gives the number of rows.
export function stack(items, slack = 0) {
  const ends = [];
  for (const item of [...items].sort((a, b) => a.start - b.start)) {
    let row = ends.findIndex((end) => end <= item.start + slack + 1e-6);
    if (row < 0) row = ends.length;
    ends[row] = item.end ?? Infinity;
    item.row = row;
  }
  return Math.max(ends.length, 1);
}
