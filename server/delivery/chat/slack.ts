import type { ChatMessage, Run } from './message.ts';

/**
 * A message for an incoming webhook of Slack. The blocks are rich text, whose text elements Slack shows to the letter: no
 * mark-up, mention or link is looked for in them. What a notification shows is mrkdwn, where &, < and > are escaped.
 */
export function renderForSlack({ sentence, quote }: ChatMessage) {
  return {
    text: escapeMrkdwn(sentence.map(run => run.text).join('')),
    blocks: [
      {
        type: 'rich_text',
        elements: [
          { type: 'rich_text_section', elements: sentence.map(renderElement) },
          ...(quote === undefined ? [] : [{ type: 'rich_text_quote', elements: [{ type: 'text', text: quote }] }]),
        ],
      },
    ],
    unfurl_links: false,
    unfurl_media: false,
  };
}

function renderElement({ text, isStrong, url }: Run) {
  const style = isStrong ? { style: { bold: true } } : {};
  return url === undefined ? { type: 'text', text, ...style } : { type: 'link', url, text, ...style };
}

/** The space without width keeps a workspace that looks for names from finding one. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200b');
}
