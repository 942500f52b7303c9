import { escapeHtml } from '../../text/html.ts';
import { visibleText } from '../../text/plain-text.ts';

/** A text that another program wrote, such as a response. Pages show it in a <pre> element. */
export interface Quotation {
  text: string;
  /** Whether the original text is longer than the quotation. */
  isCut: boolean;
}

/**
 * Shortens a text from another program, so that it takes at most `maxBytes` bytes in the page. Also escapes its control
 * characters.
 */
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
