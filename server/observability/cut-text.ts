/** Marks the place where a text was cut. */
export const cutOff = '[…]';

/** Cuts a text that is longer, before anything reads it: reading costs time for each character. */
export function cutText(text: string, maxLength: number): string {
  return text.length > maxLength ? text.slice(0, maxLength) + cutOff : text;
}

/** A character that no token and no address has in its middle, apart from quoted local parts. */
const boundary = /[\s"<>\\/?&#=:;,()[\]]/;

/** The longest local part of an address in quotation marks, with its marks. */
const maxQuotedLength = 66;

/**
 * Takes the last word out of a text that was cut, here or before. The word may be the first half of a secret or of an
 * address, which no pattern finds.
 */
export function withoutHalfWord(text: string): string {
  if (!text.endsWith(cutOff)) return text;
  const kept = text.slice(0, -cutOff.length);
  let start = kept.length;
  while (start > 0 && !boundary.test(kept[start - 1] ?? '')) start--;
  // The user and the password of a URL end at a sign that the cut may have taken away.
  const authority = kept.lastIndexOf('://');
  if (authority >= 0 && !/[\s"'<>\\]/.test(kept.slice(authority))) start = Math.min(start, authority + '://'.length);
  // The quotation marks of a local part: the cut may be before or after the second one.
  for (let marks = 0; marks < 2; marks++) {
    const quote = kept.lastIndexOf('"', start - 1);
    if (quote >= 0 && quote >= start - maxQuotedLength) start = quote;
  }
  return kept.slice(0, start) + cutOff;
}
