import type { ChatKind } from '../../entities/chat-channel.ts';
import type { ChatMessage, Run } from './message.ts';

/** The functions that render a message for the incoming webhook of each kind of chat. */
export const renderers = {
  slack: renderForSlack,
  discord: renderForDiscord,
  mattermost: renderForMattermost,
  teams: renderForTeams,
} satisfies Record<ChatKind, (message: ChatMessage) => unknown>;

/**
 * Renders rich text for Slack. Slack shows the text elements of rich text literally, without markup, mentions or links.
 * Slack's notifications show the fallback text in the format mrkdwn, so &, < and > are escaped there.
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

/** Escapes a text for mrkdwn. A zero-width space after @ prevents mentions if a Slack workspace parses names. */
function escapeMrkdwn(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200b');
}

/**
 * Renders an Adaptive Card for an incoming webhook of a workflow in Microsoft Teams. The text runs of a card do not
 * support Markdown. Only an entity of the card can mention a person, and this card has no entity.
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

/** Puts a space between the two braces of {{, because Teams would otherwise compute a date from a text such as {{DATE(…)}}. */
function literal(text: string): string {
  return text.replaceAll('{{', '{\u200b{');
}

/**
 * Renders an embed for a webhook of Discord. A mention in an embed notifies nobody, and allowed_mentions forbids all
 * mentions. The description is Markdown, where a backslash before < also prevents a mention.
 */
function renderForDiscord(message: ChatMessage) {
  return { embeds: [{ description: renderLines(message, escapeForDiscord) }], allowed_mentions: { parse: [] } };
}

function escapeForDiscord(text: string): string {
  return escapeInline(text).replace(/[<>]/g, '\\$&').replaceAll('@', '@\u200b');
}

/**
 * Renders a post for Mattermost. Mattermost looks for mentions before it parses Markdown, so a zero-width space follows
 * each @. Before both steps, Mattermost replaces Slack's <!channel>, <@user> and <url|text>, so angle brackets are
 * written as entities.
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

/** Escapes emphasis, code, links, spoilers (hidden text) and headings in the Markdown of the chats. */
function escapeInline(text: string): string {
  return text.replace(/[\\`*_~|[\]#]/g, '\\$&');
}

/**
 * Escapes characters at the start of a line that Markdown would read as a list or a horizontal rule. Call this function
 * after escapeInline.
 */
function escapeLineStart(text: string): string {
  return text.replace(/^(\d{1,9})([.)])/, '$1\\$2').replace(/^[-+=]/, '\\$&');
}

function renderMarkdown({ text, isStrong, url }: Run, escapeText: (text: string) => string): string {
  const escaped = escapeText(text);
  if (url !== undefined) return `[${escaped}](${escapeUrl(url)})`;
  return isStrong ? `**${escaped}**` : escaped;
}

/** Encodes the characters of a URL that would end the link or count as formatting. */
function escapeUrl(url: string): string {
  return new URL(url).href.replace(/[\\`*()<>|~\s]/g, character => `%${character.charCodeAt(0).toString(16)}`);
}
