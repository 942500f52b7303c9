/**
 * Returns the line number of a JSON pointer's target in a JSON text, counted from 1. If the target is missing, returns
 * the line of its parent.
 */
export function lineOf(text: string, pointer: string): number {
  const path = pointer
    .split('/')
    .slice(1)
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'));
  let position = skipSpace(text, 0);
  let found = position;
  for (const key of path) {
    const next = memberAt(text, position, key);
    if (next === undefined) break;
    found = next.start;
    position = next.value;
  }
  return text.slice(0, found).split('\n').length;
}

/** Returns the position of an object's member or an array's item, and the position of its value. */
function memberAt(text: string, position: number, key: string): { start: number; value: number } | undefined {
  const isObject = text[position] === '{';
  if (!isObject && text[position] !== '[') return undefined;
  let at = skipSpace(text, position + 1);
  for (let n = 0; at < text.length && text[at] !== '}' && text[at] !== ']'; n += 1) {
    const start = at;
    let name = String(n);
    if (isObject) {
      const end = skipValue(text, at);
      name = JSON.parse(text.slice(at, end)) as string;
      at = skipSpace(text, skipSpace(text, end) + 1);
    }
    if (name === key) return { start, value: at };
    at = skipSpace(text, skipValue(text, at));
    if (text[at] === ',') at = skipSpace(text, at + 1);
  }
  return undefined;
}

function skipSpace(text: string, position: number): number {
  let at = position;
  while (at < text.length && /[\s\uFEFF]/.test(text.charAt(at))) at += 1;
  return at;
}

function skipValue(text: string, position: number): number {
  let depth = 0;
  for (let at = position; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"') {
      at = endOfString(text, at);
      if (depth === 0) return at + 1;
    } else if (character === '{' || character === '[') {
      depth += 1;
    } else if (character === '}' || character === ']') {
      if (depth === 0) return at;
      depth -= 1;
      if (depth === 0) return at + 1;
    } else if (depth === 0 && /[\s,]/.test(character)) {
      return at;
    }
  }
  return text.length;
}

function endOfString(text: string, position: number): number {
  let at = position + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at;
}
