import type { ChatKind } from '../../entities/chat-channel.ts';
import type { ChatMessage, Run } from './message.ts';

/** Renders a message for the incoming webhook of each kind of chat. */
export const renderers = {
  slack: renderForSlack,
  discord: renderForDiscord,
  mattermost: renderForMattermost,
  teams: renderForTeams,
} satisfies Record<ChatKind, (message: ChatMessage) => unknown>;

/**
 * Slack shows the text elements of rich text literally: it parses no mark-up, mention or link in them. Notifications
 * show mrkdwn, where &, < and > are escaped.
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

/** A zero-width space after @ prevents mentions in workspaces that parse names. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200b');
}

/**
 * An Adaptive Card for an incoming webhook that Workflows of Microsoft Teams made. Text runs do not support Markdown. A
 * mention would need an entity, and the card has none.
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

/** Keeps a card from reading {{DATE(…)}} as a date to compute. */
function literal(text: string): string {
  return text.replaceAll('{{', '{\u200b{');
}

/**
 * An embed for a webhook of Discord. A mention in an embed notifies nobody, and allowed_mentions forbids all mentions.
 * The description is Markdown, where a backslash before < also prevents a mention.
 */
function renderForDiscord(message: ChatMessage) {
  return { embeds: [{ description: renderLines(message, escapeForDiscord) }], allowed_mentions: { parse: [] } };
}

function escapeForDiscord(text: string): string {
  return escapeInline(text).replace(/[<>]/g, '\\$&').replaceAll('@', '@\u200b');
}

/**
 * Mattermost finds mentions before it parses Markdown, so a zero-width space follows each @. It also reads Slack's
 * <!channel>, <@user> and <url|text> first, so angle brackets are entities.
 */
function renderForMattermost(message: ChatMessage) {
  return { text: renderLines(message, escapeForMattermost) };
}

function escapeForMattermost(text: string): string {
  return escapeInline(escapeMrkdwn(text));
}

/** Renders the lines of a message in Markdown. `escapeText` escapes text in the middle of a line. */
function renderLines({ sentence, quote }: ChatMessage, escapeText: (text: string) => string): string {
  const lines = [escapeLineStart(sentence.map(run => renderMarkdown(run, escapeText)).join(''))];
  if (quote !== undefined) lines.push(`> ${escapeLineStart(escapeText(quote))}`);
  return lines.join('\n');
}

/** Escapes the marks of emphasis, code, links, hidden text and headings in each chat's Markdown. */
function escapeInline(text: string): string {
  return text.replace(/[\\`*_~|[\]#]/g, '\\$&');
}

/** Escapes the marks of a list or a rule at the start of a line that escapeInline has escaped. */
function escapeLineStart(text: string): string {
  return text.replace(/^(\d{1,9})([.)])/, '$1\\$2').replace(/^[-+=]/, '\\$&');
}

function renderMarkdown({ text, isStrong, url }: Run, escapeText: (text: string) => string): string {
  const escaped = escapeText(text);
  if (url !== undefined) return `[${escaped}](${escapeUrl(url)})`;
  return isStrong ? `**${escaped}**` : escaped;
}

/** Encodes the characters of a URL that would end its link or format text. */
function escapeUrl(url: string): string {
  return new URL(url).href.replace(/[\\`*()<>|~\s]/g, character => `%${character.charCodeAt(0).toString(16)}`);
}
