import { escapeInline, escapeLineStart, renderRun } from './markdown.ts';
import type { ChatMessage } from './message.ts';

/**
 * A message for an incoming webhook of Mattermost. Mentions are looked for in the words of the text, whatever its
 * Markdown says: the space without width after each @ leaves no such word. The angle brackets are entities, since
 * Mattermost also reads Slack's <!channel>, <@user> and <url|text>, before any Markdown.
 */
export function renderForMattermost({ sentence, quote }: ChatMessage) {
  const lines = [escapeLineStart(sentence.map(run => renderRun(run, escapeForMattermost)).join(''))];
  if (quote !== undefined) lines.push(`> ${escapeLineStart(escapeForMattermost(quote))}`);
  return { text: lines.join('\n') };
}

function escapeForMattermost(text: string): string {
  return escapeInline(
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200b'),
  );
}
