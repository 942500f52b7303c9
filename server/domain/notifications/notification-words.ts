import { t } from '../../text/catalogue.ts';
import { oneLine, shortLine, truncate } from '../../text/plain-text.ts';

/**
 * The kinds of notifications. A notification of the kind `webhook.disabled` is about a webhook endpoint, and all others
 * are about an event.
 */
export const notificationKinds = [
  'idea.approved',
  'idea.rejected',
  'idea.pending',
  'idea.status_changed',
  'idea.merged',
  'idea.unmerged',
  'comment.created',
  'user.mentioned',
  'webhook.disabled',
] as const;

export type NotificationKind = (typeof notificationKinds)[number];

/** The content of a notification. The texts are as users wrote them: wordsOf shortens them. */
export interface NotificationSubject {
  kind: NotificationKind;
  board: string | null;
  title: string | null;
  targetTitle: string | null;
  /** The name of the person who caused the event. Null for the operator of the server. */
  actor: string | null;
  statusLabel: string | null;
  comment: string | null;
  /**
   * The official reply with a status, the text with a mention, the body of a pending idea, the reason for a rejection, or
   * the reason why a webhook was disabled.
   */
  detail: string | null;
  /** The URL of the disabled webhook. */
  endpointUrl: string | null;
}

interface Words {
  subject: string;
  sentence: string;
  quote: string | null;
  link: string;
  reason: string;
  ending: string;
}

/** The maximum length of a title in a mail's subject line. Mail clients cut off longer subject lines. */
const maxTitleInSubject = 80;
const maxTitleLength = 200;
const maxNameLength = 100;
const maxUrlLength = 300;

/**
 * Writes the texts of a notification for mails and pages. Texts by users are put on one line, except the quoted text.
 */
export function wordsOf(about: NotificationSubject): Words {
  const actor = about.actor === null ? 'The operator' : shortLine(about.actor, maxNameLength, 'Somebody');
  const board = shortLine(about.board ?? '', maxNameLength);
  const title = `“${shortLine(about.title ?? '', maxTitleLength)}”`;
  const short = `“${shortLine(about.title ?? '', maxTitleInSubject)}”`;
  const target = `“${shortLine(about.targetTitle ?? '', maxTitleLength)}”`;
  const shortTarget = `“${shortLine(about.targetTitle ?? '', maxTitleInSubject)}”`;
  const status = shortLine(about.statusLabel ?? '', maxNameLength);
  const url = about.endpointUrl ?? '';
  const toFollower = (subject: string, sentence: string, quote: string | null = null): Words => ({
    subject,
    sentence,
    quote,
    link: 'Read the idea',
    reason: `You get this because you follow the idea on the board ${board}.`,
    ending: 'Unfollow the idea',
  });
  const toAuthor = (...text: Parameters<typeof toFollower>): Words => ({
    ...toFollower(...text),
    reason: `You get this because you submitted the idea to the board ${board}.`,
  });
  const toModerator = (...text: Parameters<typeof toFollower>): Words => ({
    ...toFollower(...text),
    reason: 'You get this because you are an owner, admin or moderator of the account.',
    ending: 'Get no more mail',
  });

  switch (about.kind) {
    case 'idea.status_changed':
      return toFollower(
        `${short} is now ${status}`,
        about.detail === null
          ? `${actor} moved ${title} to ${status}.`
          : t('mails.notification.status_with_reply', { actor, title, status }),
        about.detail,
      );
    case 'user.mentioned':
      return {
        ...toFollower(
          t('mails.notification.mentioned_subject', { actor, title: short }),
          t('mails.notification.mentioned', { actor, title }),
          about.detail,
        ),
        reason: t('mails.notification.mentioned_reason', { board }),
        ending: t('mails.notification.mentions_ending'),
      };
    case 'comment.created':
      return toFollower(`${actor} commented on ${short}`, `${actor} commented on ${title}:`, about.comment);
    case 'idea.merged':
      return toFollower(
        `${short} was merged into ${shortTarget}`,
        `${actor} merged ${title} into ${target}, where its votes count from now on.`,
      );
    case 'idea.unmerged':
      return toFollower(
        `${short} is no longer merged`,
        `${actor} undid the merge of ${title} into ${target}. It has its own votes again.`,
      );
    case 'idea.approved':
      return toAuthor(
        `Your idea ${short} was published`,
        `Your idea ${title} was approved and is on the board ${board} now.`,
      );
    case 'idea.rejected':
      return toAuthor(
        `Your idea ${short} was not accepted`,
        `Your idea ${title} was not accepted for the board ${board}. The reason:`,
        about.detail,
      );
    case 'idea.pending':
      return toModerator(
        `${short} awaits approval on ${board}`,
        `${actor} submitted ${title} to the board ${board}, where it awaits approval:`,
        about.detail,
      );
    case 'webhook.disabled':
      return {
        ...toModerator(
          `A webhook to ${hostOf(url)} was disabled`,
          `The webhook to ${truncate(oneLine(url), maxUrlLength)} was disabled:`,
          about.detail,
        ),
        link: 'Open Idea-Board',
        reason: 'You get this because you are an owner or admin of the account.',
      };
  }
}

function hostOf(url: string): string {
  return truncate(oneLine(URL.parse(url)?.host ?? ''), maxNameLength) || 'an endpoint';
}
