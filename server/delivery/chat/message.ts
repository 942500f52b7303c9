import type { EventBody } from '../../../contract/events.ts';
import type { LinkToIdea } from '../../domain/ideas/present-idea.ts';
import { oneLine, shortLine, truncate } from '../../text/plain-text.ts';

/** A part of a sentence in one style: plain, strong or a link. The text is on one line and not escaped yet. */
export interface Run {
  text: string;
  isStrong?: true;
  url?: string;
}

/** The content of a chat message: one sentence and the beginning of a new comment or official reply. */
export interface ChatMessage {
  sentence: Run[];
  /** The beginning of the comment or of the official reply, on one line and not escaped yet. */
  quote: string | undefined;
  /** The URL of the idea's page, for a button. */
  url: string | undefined;
}

/*
 * Maximum lengths in code points. With these lengths, a message with two links stays below the limit of every chat,
 * even if each character is escaped. Slack allows 3,000 characters in a text, Discord 4,096 in an embed, and an older
 * Mattermost 4,000 in a post.
 */
const maxNameLength = 60;
const maxTitleLength = 120;
const maxLabelLength = 60;
const maxQuoteLength = 300;

/** Returns the URL of an idea's page, which shows the comment, if one is given. */
type UrlOf = (board: string, ...shown: Parameters<LinkToIdea>) => string;

/** Describes an event in one sentence. The links of a message about a comment lead to the comment. */
export function describeEvent(body: EventBody, urlOf: UrlOf): ChatMessage {
  const { board, idea } = body.data;
  const url = urlOf(board.slug, idea.id, body.type === 'comment.created' ? body.data.comment.id : undefined);
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
      // Names the author of the idea and not the actor of the event, because the actor may be the moderator who
      // approved the idea.
      return message(nameOf(idea.author.name), ' submitted ', title);
    case 'idea.status_changed':
      return {
        ...message(actor, ' moved ', title, ' to ', {
          text: shortLine(idea.status_label, maxLabelLength),
          isStrong: true,
        }),
        quote: body.data.reply && quoteOf(body.data.reply),
      };
    case 'idea.merged':
      return message(actor, ' merged ', title, ' into ', targetOf(body.data.target, board.slug, urlOf));
    case 'idea.unmerged':
      return message(actor, ' took ', title, ' out of ', targetOf(body.data.target, board.slug, urlOf), ' again');
    case 'comment.created':
      return { ...message(actor, ' commented on ', title), quote: quoteOf(body.data.comment) };
    default:
      throw new Error(`Chats do not show the event ${body.type}`);
  }
}

function quoteOf(comment: { body: string }): string | undefined {
  return truncate(oneLine(comment.body), maxQuoteLength) || undefined;
}

/** Returns the message that is posted when a person tests a channel. */
export function describeTest(boardName: string): ChatMessage {
  return {
    sentence: [{ text: 'Idea-Board will post here about the board ' }, nameOf(boardName)],
    quote: undefined,
    url: undefined,
  };
}

function nameOf(name: string): Run {
  return { text: shortLine(name, maxNameLength, 'Somebody'), isStrong: true };
}

function targetOf(target: { id: number; title: string }, board: string, urlOf: UrlOf): Run {
  return { text: shortLine(target.title, maxTitleLength), url: urlOf(board, target.id) };
}
