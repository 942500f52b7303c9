import { escapeHtml } from '../../text/html.ts';
import { visibleText } from '../../text/plain-text.ts';

/** The text of a program, as a page shows it in a pre. */
export interface Quotation {
  text: string;
  /** Whether the text is longer. */
  isCut: boolean;
}

/** Cuts the text of a program to a number of bytes in the page, and escapes its control characters. */
export function quotationOf(text: string, maxBytes: number): Quotation {
  const visible = visibleText(text);
  let bytes = 0;
  let end = 0;
  for (const character of visible) {
    bytes += Buffer.byteLength(escapeHtml(character));
    if (bytes > maxBytes) return { text: visible.slice(0, end), isCut: true };
    end += character.length;
  }
  return { text: visible, isCut: false };
}
