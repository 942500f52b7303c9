import { eventTypes } from '../../contract/events.ts';
import { defaultOverlapHours, maxOverlapHours } from '../../contract/limits.ts';
import type { Administration } from '../domain/administration.ts';
import { storedReason } from '../domain/webhooks/disabled-reason.ts';
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  requireWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../domain/webhooks/edit-webhook.ts';
import { type DeliveryListing, listDeliveries } from '../domain/webhooks/list-deliveries.ts';
import { listWebhooks, readWebhook, type WebhookListing } from '../domain/webhooks/list-webhooks.ts';
import { redeliver, redeliverDeadSince, sendTestEvent } from '../domain/webhooks/queue-deliveries.ts';
import type { WebhookEndpoint } from '../entities/webhook.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { formatEvents, openSecretBox } from './chat.ts';
import { chooseAccount, inAccount, onAccount, onBoards, onTarget } from './choose.ts';
import {
  argument,
  flag,
  given,
  limit,
  noun,
  optional,
  parseHours,
  parsePositive,
  parseTime,
  repeatable,
  required,
  withDefault,
} from './command.ts';
import { formatFacts, formatTable, shorten } from './output.ts';

const onWebhook = onTarget(
  { id: argument('<id>', 'the id of the webhook, from webhook list', parsePositive), ...inAccount },
  async (admin, { id, account }) => requireWebhook(admin, (await chooseAccount(admin, account)).id, id),
);

const changeWebhook = onWebhook.changing(read, formatWebhook);

const secretWarning = 'This is the only time that the secret is shown.';

export const addWebhookCommands = noun('webhook', "webhooks: URLs that get the events of an account's boards", {
  create: onBoards.operation({
    description: 'Creates a webhook and prints the secret that signs its deliveries. The secret is shown only once.',
    examples: [
      'webhook create --url https://hooks.example.com/ideas',
      'webhook create --account acme --board web-app --url https://hooks.example.com/ideas --event idea.created --event idea.merged',
    ],
    input: {
      url: required('<url>', 'the URL for deliveries'),
      event: repeatable(
        '<type>',
        'an event type to deliver; repeatable; every type except idea.voted if omitted',
        eventTypes,
      ),
      description: optional('<text>', 'the purpose'),
    },
    async run(admin, { accountId, boardId }, { event, ...input }, config) {
      const { endpoint, secret } = await createWebhook(
        admin,
        await openSecretBox(config),
        { ...input, ...given({ eventTypes: event }), accountId, boardId },
        buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS),
      );
      return { ...(await read(admin, endpoint)), secret };
    },
    text: formatWithSecret,
    warning: secretWarning,
  }),
  list: onAccount.operation({
    description: 'Lists the webhooks of an account without their secrets.',
    examples: ['webhook list --account acme'],
    run: (admin, { id }) => listWebhooks(admin, id),
    text: rows =>
      formatTable(
        rows,
        'id',
        ['url', webhook => shorten(webhook.url)],
        ['board', webhook => webhook.board ?? 'all'],
        ['events', formatEvents],
        'state',
        ['pending', 'pending_count'],
        ['description', webhook => shorten(webhook.description, 40)],
      ),
  }),
  show: onWebhook.operation({
    description: 'Shows a webhook.',
    examples: ['webhook show 3'],
    run: read,
    text: formatWebhook,
  }),
  update: changeWebhook({
    description: 'Changes a webhook. Omitted options stay unchanged. Pending deliveries go to the new URL.',
    examples: ['webhook update 3 --url https://hooks.example.com/v2/ideas'],
    input: {
      url: optional('<url>', 'another URL'),
      event: repeatable('<type>', 'an event type to deliver from now on; repeatable', eventTypes, {
        conflicts: 'allEvents',
      }),
      allEvents: flag('deliver every event type'),
      description: optional('<text>', 'another description'),
    },
    change(admin, endpoint, { url, event, allEvents, description }, config) {
      const changes = given({ url, eventTypes: allEvents ? [] : event, description });
      return updateWebhook(admin, endpoint, changes, buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS));
    },
  }),
  enable: changeWebhook({
    description: 'Resumes deliveries to a webhook. To send the dead ones again, use webhook redeliver.',
    examples: ['webhook enable 3'],
    change: enableWebhook,
  }),
  disable: changeWebhook({
    description: 'Stops deliveries to a webhook. The pending ones become dead.',
    examples: ['webhook disable 3'],
    input: { reason: withDefault('<text>', 'the reason, shown with the webhook', storedReason('operator')) },
    change: (admin, endpoint, { reason }) => disableWebhook(admin, endpoint, reason),
  }),
  'rotate-secret': onWebhook.operation({
    description:
      'Gives a webhook a new secret and prints it, only once. Deliveries are signed with both secrets for a time.',
    examples: ['webhook rotate-secret 3 --overlap-hours 48'],
    input: {
      overlapHours: withDefault('<number>', 'hours until the old secret expires; 0 for now', defaultOverlapHours, {
        parse: parseHours(maxOverlapHours),
      }),
    },
    async run(admin, endpoint, { overlapHours }, config) {
      const secret = await rotateWebhookSecret(admin, await openSecretBox(config), endpoint, overlapHours);
      return { ...(await read(admin, endpoint)), secret };
    },
    text: formatWithSecret,
    warning: secretWarning,
  }),
  delete: onWebhook.operation({
    description: 'Deletes a webhook and its delivery log.',
    examples: ['webhook delete 3'],
    async run(admin, endpoint) {
      const before = await read(admin, endpoint);
      await deleteWebhook(admin, endpoint);
      return before;
    },
    text: formatWebhook,
  }),
  test: onWebhook.operation({
    description: 'Sends a test event to a webhook.',
    examples: ['webhook test 3'],
    run: async (admin, { accountId, id }) => ({ delivery_id: await sendTestEvent(admin, accountId, id) }),
    text: ({ delivery_id }, { id }) =>
      `The test event is queued. To see the result: webhook deliveries ${id} --delivery ${delivery_id}`,
  }),
  deliveries: onWebhook.operation({
    description: 'Lists the deliveries to a webhook with every try, newest first.',
    examples: ['webhook deliveries 3 --state dead', 'webhook deliveries 3 --delivery 1041 --json'],
    input: {
      state: optional('<state>', 'only deliveries in this state', {
        choices: ['pending', 'delivered', 'dead'] as const,
      }),
      delivery: optional('<id>', 'only this delivery', { parse: parsePositive }),
      limit,
    },
    run: (admin, { accountId, id }, { delivery, ...filter }) =>
      listDeliveries(admin, accountId, id, { ...filter, ...given({ deliveryId: delivery }) }),
    text: rows =>
      formatTable(
        rows,
        'id',
        'type',
        'state',
        ['tries', one => one.attempts.length],
        ['last answer', formatLastAttempt],
        'created_at',
        ['next try', 'next_attempt_at'],
      ),
  }),
  redeliver: onWebhook.operation({
    description: 'Sends a delivery, or every dead delivery since a time, again with the same webhook-id.',
    examples: ['webhook redeliver 3 --delivery 1041', 'webhook redeliver 3 --dead-since 2026-03-14T00:00:00Z'],
    input: {
      delivery: optional('<id>', 'the delivery, in any state', { parse: parsePositive }),
      deadSince: optional('<time>', 'an RFC 3339 time: every dead delivery since then', {
        parse: parseTime,
        conflicts: 'delivery',
      }),
    },
    refuse: ({ delivery, deadSince }) =>
      delivery === undefined && deadSince === undefined ? 'give --delivery <id> or --dead-since <time>' : undefined,
    async run(admin, { accountId, id }, { delivery, deadSince }) {
      if (deadSince) return { redelivered: await redeliverDeadSince(admin, accountId, id, deadSince) };
      await redeliver(admin, accountId, id, delivery ?? 0);
      return { redelivered: 1 };
    },
    text: ({ redelivered }) => `Deliveries queued: ${redelivered}.`,
  }),
});

function read(admin: Administration, { accountId, id }: WebhookEndpoint): Promise<WebhookListing> {
  return readWebhook(admin, accountId, id);
}

function formatWithSecret({ secret, ...webhook }: WebhookListing & { secret: string }): string {
  return `${formatWebhook(webhook)}\n\n${secret}`;
}

function formatWebhook(webhook: WebhookListing): string {
  return formatFacts(
    { ...webhook, board: webhook.board ?? 'all', event_types: formatEvents(webhook) },
    {
      event_types: 'events',
      disabled_reason: 'reason',
      previous_secret_expires_at: 'old secret until',
      pending_count: 'pending',
    },
  );
}

function formatLastAttempt({ attempts }: DeliveryListing): string | null {
  const last = attempts.at(-1);
  return last ? `${last.error ?? last.status} (${last.duration_ms} ms)` : null;
}
