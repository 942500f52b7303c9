import type { ChatKind } from '../../entities/chat-channel.ts';
import type { ChatMessage, Run } from './message.ts';

/** Renders a message as the incoming webhook of each chat takes it. */
export const renderers = {
  slack: renderForSlack,
  discord: renderForDiscord,
  mattermost: renderForMattermost,
  teams: renderForTeams,
} satisfies Record<ChatKind, (message: ChatMessage) => unknown>;

/**
 * A message for an incoming webhook of Slack. The blocks are rich text, whose text elements Slack shows to the letter: no
 * mark-up, mention or link is looked for in them. What a notification shows is mrkdwn, where &, < and > are escaped.
 */
function renderForSlack({ sentence, quote }: ChatMessage) {
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

/**
 * A message for an incoming webhook of Microsoft Teams, made by Workflows: an Adaptive Card. Its text is in text runs,
 * where Markdown is not supported and so shown to the letter; a mention would need an entity, and there is none.
 */
function renderForTeams({ sentence, quote, url }: ChatMessage) {
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { type: 'RichTextBlock', inlines: sentence.map(renderTextRun) },
            ...(quote === undefined
              ? []
              : [{ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: literal(quote), italic: true }] }]),
          ],
          ...(url === undefined ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open the idea', url }] }),
        },
      },
    ],
  };
}

function renderTextRun({ text, isStrong, url }: Run) {
  return {
    type: 'TextRun',
    text: literal(text),
    ...(isStrong ? { weight: 'Bolder' } : {}),
    ...(url === undefined ? {} : { selectAction: { type: 'Action.OpenUrl', url } }),
  };
}

/** A card computes dates where it reads {{DATE(…)}}. */
function literal(text: string): string {
  return text.replaceAll('{{', '{\u200b{');
}

/**
 * A message for a webhook of Discord: an embed, in which a mention notifies nobody, and which allows no mention besides.
 * Its description is Markdown, where a backslash before < also ends what would be shown as a mention.
 */
function renderForDiscord(message: ChatMessage) {
  return { embeds: [{ description: renderLines(message, escapeForDiscord) }], allowed_mentions: { parse: [] } };
}

function escapeForDiscord(text: string): string {
  return escapeInline(text).replace(/[<>]/g, '\\$&').replaceAll('@', '@\u200b');
}

/**
 * A message for an incoming webhook of Mattermost. Mentions are looked for in the words of the text, whatever its
 * Markdown says: the space without width after each @ leaves no such word. The angle brackets are entities, since
 * Mattermost also reads Slack's <!channel>, <@user> and <url|text>, before any Markdown.
 */
function renderForMattermost(message: ChatMessage) {
  return { text: renderLines(message, escapeForMattermost) };
}

function escapeForMattermost(text: string): string {
  return escapeInline(
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200b'),
  );
}

/** Renders the lines of a message in Markdown. `escapeText` escapes text in the middle of a line. */
function renderLines({ sentence, quote }: ChatMessage, escapeText: (text: string) => string): string {
  const lines = [escapeLineStart(sentence.map(run => renderMarkdown(run, escapeText)).join(''))];
  if (quote !== undefined) lines.push(`> ${escapeLineStart(escapeText(quote))}`);
  return lines.join('\n');
}

/** Escapes what marks emphasis, code, links, hidden text and headings in every Markdown that a chat reads. */
function escapeInline(text: string): string {
  return text.replace(/[\\`*_~|[\]#]/g, '\\$&');
}

/** Escapes what makes a list or a rule of a line that begins with it. The text is escaped inline already. */
function escapeLineStart(text: string): string {
  return text.replace(/^(\d{1,9})([.)])/, '$1\\$2').replace(/^[-+=]/, '\\$&');
}

function renderMarkdown({ text, isStrong, url }: Run, escapeText: (text: string) => string): string {
  const escaped = escapeText(text);
  if (url !== undefined) return `[${escaped}](${escapeUrl(url)})`;
  return isStrong ? `**${escaped}**` : escaped;
}

/** A URL as the target of a link: nothing in it ends the link, or is a mark. */
function escapeUrl(url: string): string {
  return new URL(url).href.replace(/[\\`*()<>|~\s]/g, character => `%${character.charCodeAt(0).toString(16)}`);
}
