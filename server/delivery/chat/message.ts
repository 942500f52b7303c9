import type { EventBody } from '../../../contract/events.ts';
import { oneLine, shortLine, truncate } from '../../text/plain-text.ts';

/** A piece of a message's sentence: plain, strong, or a link. The text is one line, and not escaped yet. */
export interface Run {
  text: string;
  isStrong?: true;
  url?: string;
}

/** What a chat shows of an event: who did what, with the idea as a link, and for a comment its beginning. */
export interface ChatMessage {
  sentence: Run[];
  /** What was commented: one line, and not escaped yet. */
  quote: string | undefined;
  /** For a notification that shows no formatting, and for a button. */
  url: string | undefined;
}

/*
 * The longest that each text is shown, in code points. With every character escaped, and with two links, a message
 * stays below the least that one of the chats takes: 3,000 characters for a text of Slack, 4,096 for an embed of
 * Discord, 4,000 for a post of an older Mattermost.
 */
const maxNameLength = 60;
const maxTitleLength = 120;
const maxLabelLength = 60;
const maxQuoteLength = 300;

/** Says in one sentence what happened. urlOf answers where an idea can be read. */
export function describeEvent(body: EventBody, urlOf: (board: string, ideaId: number) => string): ChatMessage {
  const { board, idea } = body.data;
  const url = urlOf(board.slug, idea.id);
  const title: Run = { text: shortLine(idea.title, maxTitleLength), url };
  const actor = nameOf(body.data.actor?.name ?? 'The operator');
  const where: Run = { text: ` · ${shortLine(board.name, maxNameLength)}` };
  const message = (...runs: (Run | string)[]): ChatMessage => ({
    sentence: [...runs.map(run => (typeof run === 'string' ? { text: run } : run)), where],
    quote: undefined,
    url,
  });

  switch (body.type) {
    case 'idea.created':
      // Who approved it is of less interest than who wrote it.
      return message(nameOf(idea.author.name), ' submitted ', title);
    case 'idea.status_changed':
      return message(actor, ' moved ', title, ' to ', {
        text: shortLine(idea.status_label, maxLabelLength),
        isStrong: true,
      });
    case 'idea.merged':
      return message(actor, ' merged ', title, ' into ', targetOf(body.data.target, board.slug, urlOf));
    case 'idea.unmerged':
      return message(actor, ' took ', title, ' out of ', targetOf(body.data.target, board.slug, urlOf), ' again');
    case 'comment.created':
      return {
        ...message(actor, ' commented on ', title),
        quote: truncate(oneLine(body.data.comment.body), maxQuoteLength) || undefined,
      };
    case 'idea.voted':
      throw new Error('No chat is told of a vote');
  }
}

/** What an operator sends to see whether a channel can be posted to. */
export function describeTest(boardName: string): ChatMessage {
  return {
    sentence: [{ text: 'Idea-Board posts here what happens on the board ' }, { ...nameOf(boardName) }],
    quote: undefined,
    url: undefined,
  };
}

function nameOf(name: string): Run {
  return { text: shortLine(name, maxNameLength, 'Somebody'), isStrong: true };
}

function targetOf(
  target: { id: number; title: string },
  board: string,
  urlOf: (board: string, ideaId: number) => string,
): Run {
  return { text: shortLine(target.title, maxTitleLength), url: urlOf(board, target.id) };
}
