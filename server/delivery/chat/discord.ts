import { escapeInline, escapeLineStart, renderRun } from './markdown.ts';
import type { ChatMessage } from './message.ts';

/**
 * A message for a webhook of Discord: an embed, in which a mention notifies nobody, and which allows no mention besides.
 * Its description is Markdown, where a backslash before < also ends what would be shown as a mention.
 */
export function renderForDiscord({ sentence, quote }: ChatMessage) {
  const lines = [escapeLineStart(sentence.map(run => renderRun(run, escapeForDiscord)).join(''))];
  if (quote !== undefined) lines.push(`> ${escapeLineStart(escapeForDiscord(quote))}`);
  return { embeds: [{ description: lines.join('\n') }], allowed_mentions: { parse: [] } };
}

function escapeForDiscord(text: string): string {
  return escapeInline(text).replace(/[<>]/g, '\\$&').replaceAll('@', '@\u200b');
}
