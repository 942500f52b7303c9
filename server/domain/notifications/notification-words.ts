import { oneLine, shortLine, truncate } from '../../text/plain-text.ts';

/** `webhook.disabled` is about an endpoint. The other kinds are about an event. */
export const notificationKinds = [
  'idea.approved',
  'idea.rejected',
  'idea.pending',
  'idea.status_changed',
  'idea.merged',
  'idea.unmerged',
  'comment.created',
  'webhook.disabled',
] as const;

export type NotificationKind = (typeof notificationKinds)[number];

/** The content of a notification. Every text is as its author wrote it. */
export interface NotificationSubject {
  kind: NotificationKind;
  board: string | null;
  title: string | null;
  targetTitle: string | null;
  /** The name of the person who acted; null for the operator of the server. */
  actor: string | null;
  statusLabel: string | null;
  comment: string | null;
  /** The body of a pending idea, or the reason of a rejection, or of a disabled endpoint. */
  detail: string | null;
  /** The endpoint that was disabled. */
  endpointUrl: string | null;
}

interface Words {
  subject: string;
  sentence: string;
  quote?: string | null;
  link: string;
  reason: string;
  ending: string;
}

/** A list of mails shows no more of a subject. */
const maxTitleInSubject = 80;
const maxTitleLength = 200;
const maxNameLength = 100;
const maxUrlLength = 300;

/** Returns the words of a notification, for mail and for pages. User text in them is on one line, except the quote. */
export function wordsOf(about: NotificationSubject): Words {
  const actor = about.actor === null ? 'The operator' : shortLine(about.actor, maxNameLength, 'Somebody');
  const board = shortLine(about.board ?? '', maxNameLength);
  const title = `“${shortLine(about.title ?? '', maxTitleLength)}”`;
  const short = `“${shortLine(about.title ?? '', maxTitleInSubject)}”`;
  const target = `“${shortLine(about.targetTitle ?? '', maxTitleLength)}”`;
  const shortTarget = `“${shortLine(about.targetTitle ?? '', maxTitleInSubject)}”`;
  const status = shortLine(about.statusLabel ?? '', maxNameLength);
  const toFollower = {
    link: 'Read the idea',
    reason: `You get this because you follow the idea on the board ${board}.`,
    ending: 'Unfollow the idea',
  };
  const toAuthor = { ...toFollower, reason: `You get this because you submitted the idea to the board ${board}.` };
  const toModerator = {
    reason: 'You get this because you are an owner, admin or moderator of the account.',
    ending: 'Get no more mail',
  };

  switch (about.kind) {
    case 'idea.status_changed':
      return { ...toFollower, subject: `${short} is now ${status}`, sentence: `${actor} moved ${title} to ${status}.` };
    case 'comment.created':
      return {
        ...toFollower,
        subject: `${actor} commented on ${short}`,
        sentence: `${actor} commented on ${title}:`,
        quote: about.comment,
      };
    case 'idea.merged':
      return {
        ...toFollower,
        subject: `${short} was merged into ${shortTarget}`,
        sentence: `${actor} merged ${title} into ${target}, where its votes count from now on.`,
      };
    case 'idea.unmerged':
      return {
        ...toFollower,
        subject: `${short} stands by itself again`,
        sentence: `${actor} took ${title} out of ${target}: it has its own votes again.`,
      };
    case 'idea.approved':
      return {
        ...toAuthor,
        subject: `Your idea ${short} was published`,
        sentence: `Your idea ${title} was approved and is on the board ${board} now.`,
      };
    case 'idea.rejected':
      return {
        ...toAuthor,
        subject: `Your idea ${short} was not accepted`,
        sentence: `Your idea ${title} was not accepted for the board ${board}. The reason:`,
        quote: about.detail,
      };
    case 'idea.pending':
      return {
        ...toModerator,
        link: 'Read the idea',
        subject: `${short} awaits approval on ${board}`,
        sentence: `${actor} submitted ${title} to the board ${board}, where it awaits approval:`,
        quote: about.detail,
      };
    case 'webhook.disabled':
      return {
        ...toModerator,
        reason: 'You get this because you are an owner or admin of the account.',
        link: 'Open Idea-Board',
        subject: `A webhook to ${hostOf(about.endpointUrl ?? '')} was disabled`,
        sentence: `The webhook to ${truncate(oneLine(about.endpointUrl ?? ''), maxUrlLength)} was disabled:`,
        quote: about.detail,
      };
  }
}

function hostOf(url: string): string {
  return truncate(oneLine(URL.parse(url)?.host ?? ''), maxNameLength) || 'an endpoint';
}
