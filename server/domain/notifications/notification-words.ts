import { t } from '../../text/catalogue.ts';
import { oneLine, shortLine, truncate } from '../../text/plain-text.ts';
import { shownReason } from '../webhooks/disabled-reason.ts';

/**
 * The kinds of notifications. A notification of the kind `webhook.disabled` is about a webhook endpoint, and all others
 * are about an event.
 */
export const notificationKinds = [
  'idea.approved',
  'idea.rejected',
  'idea.deleted',
  'idea.pending',
  'idea.status_changed',
  'idea.merged',
  'idea.unmerged',
  'comment.created',
  'user.mentioned',
  'webhook.disabled',
] as const;

export type NotificationKind = (typeof notificationKinds)[number];

/** Whether the reader of a notification can open the page of its idea. */
export function hasIdeaPage(kind: NotificationKind): boolean {
  return kind !== 'idea.rejected' && kind !== 'idea.deleted';
}

/** The content of a notification. The texts are as users wrote them. wordsOf shortens titles and names. */
export interface NotificationSubject {
  kind: NotificationKind;
  board_name: string | null;
  title: string | null;
  target_title: string | null;
  /** The name of the person who caused the event. Null for the operator of the server. */
  actor: string | null;
  status_label: string | null;
  /**
   * The text that the notification quotes. Depending on the kind, this is a comment, an official reply, the text that
   * mentions the user, or the body of a pending idea. It can also be the reason for a rejection, a deletion or a
   * disabled webhook.
   */
  detail: string | null;
  /** The URL of the disabled webhook. */
  endpoint_url: string | null;
}

/**
 * The part of a message key that names the kind of text, such as `mentioned` in `mails.notification.mentioned.subject`.
 */
type TextKind =
  | 'status_changed'
  | 'status_changed_with_reply'
  | 'mentioned'
  | 'commented'
  | 'merged'
  | 'unmerged'
  | 'approved'
  | 'rejected'
  | 'deleted'
  | 'deleted_with_reason'
  | 'pending'
  | 'webhook_disabled';

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
 * Writes the texts of a notification for mails and pages, in the reader's language. Texts of users lose their line
 * breaks, except for the quoted text.
 */
export function wordsOf(about: NotificationSubject): Words {
  const names = {
    actor: about.actor === null ? t('mails.operator') : shortLine(about.actor, maxNameLength, t('mails.somebody')),
    board: shortLine(about.board_name ?? '', maxNameLength),
    status: shortLine(about.status_label ?? '', maxNameLength),
    host: hostOf(about.endpoint_url ?? ''),
    url: truncate(oneLine(about.endpoint_url ?? ''), maxUrlLength),
  };
  const inSubject = { ...names, ...titlesOf(about, maxTitleInSubject) };
  const inText = { ...names, ...titlesOf(about, maxTitleLength) };
  const toFollower = (kind: TextKind, quote: string | null = null): Words => ({
    subject: t(`mails.notification.${kind}.subject`, inSubject),
    sentence: t(`mails.notification.${kind}.sentence`, inText),
    quote,
    link: t('mails.notification.read_idea'),
    reason: t('mails.notification.to_follower', names),
    ending: t('mails.notification.unfollow'),
  });
  const toAuthor = (...text: Parameters<typeof toFollower>): Words => ({
    ...toFollower(...text),
    reason: t('mails.notification.to_author', names),
  });
  const toModerator = (...text: Parameters<typeof toFollower>): Words => ({
    ...toFollower(...text),
    reason: t('mails.notification.to_moderator'),
    ending: t('mails.notification.no_more_mail'),
  });

  switch (about.kind) {
    case 'idea.status_changed':
      return toFollower(about.detail === null ? 'status_changed' : 'status_changed_with_reply', about.detail);
    case 'user.mentioned':
      return {
        ...toFollower('mentioned', about.detail),
        reason: t('mails.notification.to_mentioned', names),
        ending: t('mails.notification.no_more_mentions'),
      };
    case 'comment.created':
      return toFollower('commented', about.detail);
    case 'idea.merged':
      return toFollower('merged');
    case 'idea.unmerged':
      return toFollower('unmerged');
    case 'idea.approved':
      return toAuthor('approved');
    case 'idea.rejected':
      return toAuthor('rejected', about.detail);
    case 'idea.deleted':
      return toAuthor(about.detail === null ? 'deleted' : 'deleted_with_reason', about.detail);
    case 'idea.pending':
      return toModerator('pending', about.detail);
    case 'webhook.disabled':
      return {
        ...toModerator('webhook_disabled', about.detail === null ? null : shownReason(about.detail)),
        link: t('mails.notification.open'),
        reason: t('mails.notification.to_admin'),
      };
  }
}

function titlesOf({ title, target_title }: NotificationSubject, maxLength: number) {
  return { title: shortLine(title ?? '', maxLength), target: shortLine(target_title ?? '', maxLength) };
}

function hostOf(url: string): string {
  return truncate(oneLine(URL.parse(url)?.host ?? ''), maxNameLength) || t('mails.notification.an_endpoint');
}
