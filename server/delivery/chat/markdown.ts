import type { Run } from './message.ts';

/** Escapes text for a place in the middle of a line. */
export type EscapeText = (text: string) => string;

/** Escapes what marks emphasis, code, links, hidden text and headings in every Markdown that a chat reads. */
export function escapeInline(text: string): string {
  return text.replace(/[\\`*_~|[\]#]/g, '\\$&');
}

/** Escapes what makes a list or a rule of a line that begins with it. The text is escaped inline already. */
export function escapeLineStart(text: string): string {
  return text.replace(/^(\d{1,9})([.)])/, '$1\\$2').replace(/^[-+=]/, '\\$&');
}

export function renderRun({ text, isStrong, url }: Run, escapeText: EscapeText): string {
  const escaped = escapeText(text);
  if (url !== undefined) return `[${escaped}](${escapeUrl(url)})`;
  return isStrong ? `**${escaped}**` : escaped;
}

/** A URL as the target of a link: nothing in it ends the link, or is a mark. */
function escapeUrl(url: string): string {
  return new URL(url).href.replace(/[\\`*()<>|~\s]/g, character => `%${character.charCodeAt(0).toString(16)}`);
}
