import { html } from '../../text/html.ts';
import { oneLine, shortLine, truncate } from '../../text/plain-text.ts';

/** What a user is told; `webhook.disabled` of an endpoint, all else of an event. */
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

/** What somebody is told of. Every text is as its author wrote it. */
export interface NotificationSubject {
  kind: NotificationKind;
  board: string | null;
  title: string | null;
  targetTitle: string | null;
  /** Who acted; null for the operator of the server. */
  actor: string | null;
  statusLabel: string | null;
  comment: string | null;
  /** The idea that awaits approval, or why one was rejected, or why an endpoint was disabled. */
  detail: string | null;
  /** The endpoint that was disabled. */
  endpointUrl: string | null;
}

/** What the mail of a notification says; urls are ours. */
export interface MailSubject extends NotificationSubject {
  /** Where to read more. */
  url: string | null;
  unsubscribeUrl: string;
}

export interface MailContent {
  subject: string;
  text: string;
  html: string;
}

interface Words {
  subject: string;
  sentence: string;
  quote?: string | null;
  link: string;
  reason: string;
  ending: string;
}

/** A subject is cut where a list of mails would cut it anyway. */
const maxTitleInSubject = 80;
const maxTitleLength = 200;
const maxNameLength = 100;
const maxQuoteLength = 1000;
const maxUrlLength = 300;

/** Writes the mail of a notification, as plain text and as HTML. */
export function writeMail(about: MailSubject): MailContent {
  const words = wordsOf(about);
  const quote = words.quote ? truncate(oneLine(words.quote), maxQuoteLength) : '';
  return {
    subject: words.subject,
    text: [
      words.sentence,
      ...(quote ? [`> ${quote}`] : []),
      ...(about.url ? [`${words.link}:\n${about.url}`] : []),
      `-- \n${words.reason}\n${words.ending}: ${about.unsubscribeUrl}`,
    ].join('\n\n'),
    html: html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${words.subject}</title></head>
<body style="margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1c1917;background:#ffffff">
<p>${words.sentence}</p>
${quote !== '' && html`<blockquote style="margin:16px 0;padding:0 16px;border-left:3px solid #d6d3d1">${quote}</blockquote>`}
${about.url !== null && html`<p><a href="${about.url}">${words.link}</a></p>`}
<hr style="border:0;border-top:1px solid #d6d3d1">
<p style="font-size:13px;color:#57534e">${words.reason}<br><a href="${about.unsubscribeUrl}" style="color:#57534e">${words.ending}</a></p>
</body>
</html>
`.text,
  };
}

/** The words of each kind, for mail and for pages; all user text in them but the quote is on one line. */
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
