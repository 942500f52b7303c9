import { escapeHtml } from '../../text/html.ts';
import { visibleText } from '../../text/plain-text.ts';

/** What a program sent, as a page shows it in a pre. */
export interface Quotation {
  text: string;
  /** Whether it goes on. */
  isCut: boolean;
}

/** The beginning of what a program sent, harmless, and of no more than a number of bytes in the page. */
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
