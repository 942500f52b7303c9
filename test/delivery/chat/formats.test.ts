import { describe, expect, test } from 'vitest';
import type { EventBody } from '../../../contract/events.ts';
import { renderers } from '../../../server/delivery/chat/formats.ts';
import { type ChatMessage, describeEvent, describeTest } from '../../../server/delivery/chat/message.ts';

const urlOf = (board: string, id: number) => `https://ideas.example.com/b/${board}/ideas/${id}`;
const url = urlOf('web-app', 42);
const targetUrl = urlOf('web-app', 43);

interface Texts {
  title?: string;
  target?: string;
  actor?: string | null;
  board?: string;
  status?: string;
  comment?: string;
}

/** Builds an event with the given texts. The event has only the fields that chat messages use. */
function eventOf(type: EventBody['type'], texts: Texts = {}): EventBody {
  const { title = 'Dark mode', target = 'Themes', actor = 'Ada', board = 'Web app', status = 'Planned' } = texts;
  const idea = { id: 42, title, status_label: status, author: { id: 1, name: actor ?? 'Ada' } };
  return {
    type,
    timestamp: '2026-03-14T09:00:00.000Z',
    data: {
      board: { id: 1, slug: 'web-app', name: board },
      idea,
      actor: actor === null ? null : { id: 1, name: actor, token_id: null },
      changes: [],
      target: { ...idea, id: 43, title: target },
      comment: { body: texts.comment ?? 'We need this too.' },
    },
  } as unknown as EventBody;
}

const messageOf = (type: EventBody['type'], texts?: Texts) => describeEvent(eventOf(type, texts), urlOf);
const textOf = (message: ChatMessage) => message.sentence.map(({ text }) => text).join('');

describe('a chat message', () => {
  test.each([
    ['idea.created', 'Ada submitted Dark mode · Web app'],
    ['idea.status_changed', 'Ada moved Dark mode to Planned · Web app'],
    ['idea.merged', 'Ada merged Dark mode into Themes · Web app'],
    ['idea.unmerged', 'Ada took Dark mode out of Themes again · Web app'],
    ['comment.created', 'Ada commented on Dark mode · Web app'],
  ] as const)('the chat message for the event %s names the user, the action, the idea and the board', (type, text) => {
    expect(textOf(messageOf(type))).toBe(text);
  });

  test('if no user caused the status change of an idea, the chat message names the operator of the server', () => {
    expect(textOf(messageOf('idea.status_changed', { actor: null }))).toMatch(/^The operator moved /);
  });

  test("the chat message of an approved idea names the idea's author, not the moderator who approved the idea", () => {
    const event = eventOf('idea.created');
    event.data.actor = { id: 9, name: 'A moderator', token_id: null };
    expect(textOf(describeEvent(event, urlOf))).toBe('Ada submitted Dark mode · Web app');
  });

  test('a chat message has no line breaks or control characters, even if the title or the comment contains them', () => {
    const message = messageOf('comment.created', {
      title: 'a\r\nb\u2028c\u202egnp.exe\u0000\u001b[31m',
      comment: 'one\n\n> two\n# three',
    });
    expect(textOf(message)).toBe('Ada commented on a b c gnp.exe [31m · Web app');
    expect(message.quote).toBe('one > two # three');
  });

  test('a chat message shows (untitled) for a title of invisible characters', () => {
    expect(textOf(messageOf('idea.created', { title: '\u202e\u200f' }))).toBe('Ada submitted (untitled) · Web app');
  });

  test('a chat message shortens a long title or comment only between two code points', () => {
    const message = messageOf('comment.created', { title: '🦀'.repeat(200), comment: '🦀'.repeat(500) });
    expect(message.sentence[2]?.text).toBe(`${'🦀'.repeat(119)}…`);
    expect(message.quote).toBe(`${'🦀'.repeat(299)}…`);
  });
});

describe('Slack', () => {
  test("a chat message to Slack has a rich text block with the idea's title as a link, and a mrkdwn text for Slack's own notifications", () => {
    expect(renderers.slack(messageOf('idea.status_changed'))).toEqual({
      text: 'Ada moved Dark mode to Planned · Web app',
      blocks: [
        {
          type: 'rich_text',
          elements: [
            {
              type: 'rich_text_section',
              elements: [
                { type: 'text', text: 'Ada', style: { bold: true } },
                { type: 'text', text: ' moved ' },
                { type: 'link', url, text: 'Dark mode' },
                { type: 'text', text: ' to ' },
                { type: 'text', text: 'Planned', style: { bold: true } },
                { type: 'text', text: ' · Web app' },
              ],
            },
          ],
        },
      ],
      unfurl_links: false,
      unfurl_media: false,
    });
  });

  test('a chat message to Slack shows the comment of an event as a quote', () => {
    const [block] = renderers.slack(messageOf('comment.created')).blocks;
    expect(block?.elements[1]).toEqual({
      type: 'rich_text_quote',
      elements: [{ type: 'text', text: 'We need this too.' }],
    });
  });

  test.each([
    ['<!channel> <!here> <!everyone>', '&lt;!channel&gt; &lt;!here&gt; &lt;!everyone&gt;'],
    ['<@U024BE7LH> <!subteam^S01>', '&lt;@\u200bU024BE7LH&gt; &lt;!subteam^S01&gt;'],
    ['<https://evil.example|Sign in>', '&lt;https://evil.example|Sign in&gt;'],
    ['&lt;!channel&gt;', '&amp;lt;!channel&amp;gt;'],
    ['@channel @here @everyone', '@\u200bchannel @\u200bhere @\u200beveryone'],
  ])('Slack shows the markup %s in a title or comment as plain text, without a mention or link', (hostile, escaped) => {
    const { text, blocks } = renderers.slack(messageOf('comment.created', { title: hostile, comment: hostile }));
    expect(text).toBe(`Ada commented on ${escaped} · Web app`);
    const elements = blocks.flatMap(block => block.elements).flatMap(section => section.elements);
    // Each element of the message is either plain text or the link to the idea. No element is a mention, a broadcast or
    // a date.
    expect(elements.map(({ type }) => type)).toEqual(['text', 'text', 'link', 'text', 'text']);
    expect(elements.map(element => ('url' in element ? element.url : undefined)).filter(Boolean)).toEqual([url]);
    expect(elements.at(-1)?.text).toBe(hostile);
  });
});

describe('Discord', () => {
  test('a message to Discord has an embed and a setting that forbids all mentions', () => {
    expect(renderers.discord(messageOf('comment.created'))).toEqual({
      embeds: [{ description: `**Ada** commented on [Dark mode](${url}) · Web app\n> We need this too.` }],
      allowed_mentions: { parse: [] },
    });
  });

  test.each([
    ['@everyone @here', '@\u200beveryone @\u200bhere'],
    ['<@123> <@&456> <#789>', '\\<@\u200b123\\> \\<@\u200b&456\\> \\<\\#789\\>'],
    ['[Sign in](https://evil.example)', '\\[Sign in\\](https://evil.example)'],
    [
      '**bold** __under__ ~~gone~~ ||hidden||',
      '\\*\\*bold\\*\\* \\_\\_under\\_\\_ \\~\\~gone\\~\\~ \\|\\|hidden\\|\\|',
    ],
    ['`code` ```block```', '\\`code\\` \\`\\`\\`block\\`\\`\\`'],
    ['\\[x](y)', '\\\\\\[x\\](y)'],
    ['# Heading', '\\# Heading'],
    ['- item', '\\- item'],
    ['1. item', '1\\. item'],
    ['>>> quote', '\\>\\>\\> quote'],
  ])('Discord shows the markup %s in a comment as plain text', (hostile, escaped) => {
    const [embed] = renderers.discord(messageOf('comment.created', { comment: hostile })).embeds;
    expect(embed?.description.split('\n')[1]).toBe(`> ${escaped}`);
  });

  test("brackets in an idea's title cannot end the link on the title in a chat message to Discord", () => {
    const [embed] = renderers.discord(messageOf('idea.created', { title: 'x](https://evil.example) [y' })).embeds;
    expect(embed?.description).toBe(`**Ada** submitted [x\\](https://evil.example) \\[y](${url}) · Web app`);
  });
});

describe('Mattermost', () => {
  test("Mattermost gets a Markdown text with the idea's title as a link", () => {
    expect(renderers.mattermost(messageOf('idea.merged'))).toEqual({
      text: `**Ada** merged [Dark mode](${url}) into [Themes](${targetUrl}) · Web app`,
    });
  });

  test.each([
    ['@all @channel @here @ada', '@\u200ball @\u200bchannel @\u200bhere @\u200bada'],
    ['<!channel> <!all> <@abc>', '&lt;!channel&gt; &lt;!all&gt; &lt;@\u200babc&gt;'],
    ['<https://evil.example|Sign in>', '&lt;https://evil.example\\|Sign in&gt;'],
    ['[Sign in](https://evil.example)', '\\[Sign in\\](https://evil.example)'],
    ['![x](https://evil.example/x.png)', '!\\[x\\](https://evil.example/x.png)'],
    ['# Heading | cell', '\\# Heading \\| cell'],
    ['&lt;!channel&gt;', '&amp;lt;!channel&amp;gt;'],
    ['**bold** _it_ ~~gone~~ `code`', '\\*\\*bold\\*\\* \\_it\\_ \\~\\~gone\\~\\~ \\`code\\`'],
    ['+ item', '\\+ item'],
  ])('Mattermost shows the markup %s in a comment as plain text', (hostile, escaped) => {
    const { text } = renderers.mattermost(messageOf('comment.created', { comment: hostile }));
    expect(text.split('\n')[1]).toBe(`> ${escaped}`);
  });

  test('a Mattermost message with hostile texts contains no angle bracket and no @ directly before a name', () => {
    const hostile = '<!channel>@all<@u>@@here';
    const texts = {
      title: hostile,
      target: hostile,
      actor: hostile,
      board: hostile,
      status: hostile,
      comment: hostile,
    };
    for (const type of ['idea.created', 'idea.status_changed', 'idea.merged', 'comment.created'] as const) {
      const { text } = renderers.mattermost(messageOf(type, texts));
      expect(text.replaceAll(/\n> /g, '')).not.toMatch(/[<>]|@[^\u200b]/);
    }
  });
});

describe('Microsoft Teams', () => {
  test("Microsoft Teams gets an Adaptive Card with the idea's title as a link", () => {
    expect(renderers.teams(messageOf('comment.created'))).toEqual({
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
              {
                type: 'RichTextBlock',
                inlines: [
                  { type: 'TextRun', text: 'Ada', weight: 'Bolder' },
                  { type: 'TextRun', text: ' commented on ' },
                  { type: 'TextRun', text: 'Dark mode', selectAction: { type: 'Action.OpenUrl', url } },
                  { type: 'TextRun', text: ' · Web app' },
                ],
              },
              { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text: 'We need this too.', italic: true }] },
            ],
            actions: [{ type: 'Action.OpenUrl', title: 'Open the idea', url }],
          },
        },
      ],
    });
  });

  test('Microsoft Teams shows markup, mentions and template functions in a comment as plain text', () => {
    const hostile = '<at>Ada</at> **b** [x](https://evil.example) {{DATE(2026-01-01T00:00:00Z)}}';
    const [attachment] = renderers.teams(messageOf('comment.created', { comment: hostile })).attachments;
    const { body, ...card } = attachment?.content ?? { body: [] };
    expect(body[1]?.inlines[0]?.text).toBe(hostile.replace('{{', '{\u200b{'));
    // Microsoft Teams treats <at> as a mention only if the message has the field `msteams`. Microsoft Teams parses
    // Markdown only in a TextBlock.
    expect(card).not.toHaveProperty('msteams');
    expect(body.map(({ type }) => type)).toEqual(['RichTextBlock', 'RichTextBlock']);
  });
});

describe('the longest chat message', () => {
  const long = (character: string): Texts => ({
    title: character.repeat(200),
    target: character.repeat(200),
    actor: character.repeat(100),
    board: character.repeat(100),
    status: character.repeat(60),
    comment: character.repeat(500),
  });

  test.each(['x', '*', '&', '<', '@', '🦀'])(
    'a chat message with texts of maximum length, each made of the character %s, is within the size limit of every chat service',
    character => {
      for (const type of ['idea.status_changed', 'idea.merged', 'comment.created'] as const) {
        const message = messageOf(type, long(character));
        const slack = renderers.slack(message);
        expect(slack.text.length).toBeLessThanOrEqual(4000);
        expect(JSON.stringify(slack.blocks).length).toBeLessThanOrEqual(4000);
        expect(renderers.discord(message).embeds[0]?.description.length).toBeLessThanOrEqual(4096);
        expect([...renderers.mattermost(message).text].length).toBeLessThanOrEqual(4000);
        expect(Buffer.byteLength(JSON.stringify(renderers.teams(message)))).toBeLessThanOrEqual(28 * 1024);
      }
    },
  );
});

test('the test message of a chat channel names the board', () => {
  expect(textOf(describeTest('Web app'))).toBe('Idea-Board will post here about the board Web app');
});
