import { isMap, isScalar, isSeq, LineCounter, parseDocument } from 'yaml';

/**
 * Returns a function that finds the line of a JSON pointer's target in a JSON or YAML text, counted from 1. If the
 * target is missing, the function returns the line of the nearest parent.
 */
export function linesOf(text: string): (pointer: string) => number {
  const counter = new LineCounter();
  const root = parseDocument(text.replace(/^\uFEFF/, ''), { lineCounter: counter }).contents;
  return pointer => {
    const path = pointer.split('/').slice(1);
    let node: unknown = root;
    let offset = root?.range?.[0] ?? 0;
    for (const token of path) {
      const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
      if (isMap(node)) {
        const pair = node.items.find(one => isScalar(one.key) && String(one.key.value) === key);
        if (pair === undefined) break;
        offset = (isScalar(pair.key) && pair.key.range?.[0]) || offset;
        node = pair.value;
      } else if (isSeq(node) && node.items[Number(key)] !== undefined) {
        node = node.items[Number(key)];
        offset = (node as { range?: [number, number, number] | null }).range?.[0] ?? offset;
      } else {
        break;
      }
    }
    return counter.linePos(offset).line;
  };
}
