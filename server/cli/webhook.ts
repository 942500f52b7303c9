import { InvalidArgumentError } from 'commander';
import { eventTypes } from '../../contract/events.ts';
import { requireAppKey } from '../app-key.ts';
import type { Config } from '../config.ts';
import type { Administration } from '../domain/administration.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { createWebhook } from '../domain/webhooks/create-webhook.ts';
import { deleteWebhook } from '../domain/webhooks/delete-webhook.ts';
import { disableWebhook } from '../domain/webhooks/disable-webhook.ts';
import { enableWebhook } from '../domain/webhooks/enable-webhook.ts';
import { requireWebhook } from '../domain/webhooks/find-webhook.ts';
import { type DeliveryListing, listDeliveries } from '../domain/webhooks/list-deliveries.ts';
import { listWebhooks, readWebhook, type WebhookListing } from '../domain/webhooks/list-webhooks.ts';
import { redeliver, redeliverDeadSince } from '../domain/webhooks/redeliver.ts';
import { defaultOverlapHours, maxOverlapHours, rotateWebhookSecret } from '../domain/webhooks/rotate-webhook-secret.ts';
import { sendTestEvent } from '../domain/webhooks/send-test-event.ts';
import { updateWebhook } from '../domain/webhooks/update-webhook.ts';
import type { WebhookEndpoint } from '../entities/webhook.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { chooseAccount, chooseFilter, inAccount } from './choose.ts';
import {
  argument,
  eventTypesOption,
  flag,
  given,
  limit,
  noun,
  operation,
  optional,
  parsePositive,
  parseTime,
  required,
  withDefault,
} from './command.ts';
import { formatFacts, formatTable, shorten } from './output.ts';

const onWebhook = {
  id: argument('<id>', 'the id of the webhook, as webhook list shows it', parsePositive),
  ...inAccount,
};

const secretWarning = 'This is the only time that the secret is shown.';

export const addWebhookCommands = noun(
  'webhook',
  'webhooks: addresses that are told of what happens on the boards of an account',
  {
    create: operation({
      description:
        'Registers a webhook and prints its secret, this once: it is kept encrypted. Deliveries are signed with it.',
      examples: [
        'webhook create --url https://hooks.example.com/ideas',
        'webhook create --account acme --board web-app --url https://hooks.example.com/ideas --event idea.created --event idea.merged',
      ],
      input: {
        ...inAccount,
        url: required('<url>', 'where deliveries are posted to'),
        board: optional('<slug>', 'the board whose events it is told; every board of the account when left out'),
        event: eventTypesOption(
          'a type of event that it is told, again for each type; every type when left out',
          eventTypes,
        ),
        description: optional('<text>', 'what it is for'),
      },
      async run(admin, { account, board, event, ...input }, config) {
        const { accountId, boardId } = await chooseFilter(admin, given({ account, board }));
        const { endpoint, secret } = await createWebhook(
          admin,
          await secretBoxOf(config),
          { ...input, ...given({ eventTypes: event }), accountId, boardId },
          buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS),
        );
        return { ...(await readWebhook(admin, accountId, endpoint.id)), secret };
      },
      text: formatWithSecret,
      warning: secretWarning,
    }),
    list: operation({
      description: 'Lists the webhooks of an account, without their secrets.',
      examples: ['webhook list --account acme'],
      input: inAccount,
      run: async (admin, { account }) => listWebhooks(admin, (await chooseAccount(admin, account)).id),
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
    show: operation({
      description: 'Shows a webhook.',
      examples: ['webhook show 3'],
      input: onWebhook,
      run: (admin, named) => change(admin, named, async () => {}),
      text: formatWebhook,
    }),
    update: operation({
      description: 'Changes a webhook. What is not given stays as it is; what is on its way goes to the new URL.',
      examples: ['webhook update 3 --url https://hooks.example.com/v2/ideas'],
      input: {
        ...onWebhook,
        url: optional('<url>', 'another URL'),
        event: eventTypesOption('the types of events that it is told from now on, again for each type', eventTypes, {
          conflicts: 'allEvents',
        }),
        allEvents: flag('tell it every type'),
        description: optional('<text>', 'another description'),
      },
      run(admin, { url, event, allEvents, description, ...named }, config) {
        const changes = given({ url, eventTypes: allEvents ? [] : event, description });
        const guard = buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS);
        return change(admin, named, endpoint => updateWebhook(admin, endpoint, changes, guard));
      },
      text: formatWebhook,
    }),
    enable: operation({
      description: 'Sends to a webhook again. What was given up meanwhile is sent with webhook redeliver.',
      examples: ['webhook enable 3'],
      input: onWebhook,
      run: (admin, named) => change(admin, named, endpoint => enableWebhook(admin, endpoint)),
      text: formatWebhook,
    }),
    disable: operation({
      description: 'Sends nothing more to a webhook, and gives up what is on its way.',
      examples: ['webhook disable 3'],
      input: {
        ...onWebhook,
        reason: withDefault('<text>', 'why, for those who find it disabled', 'Disabled by the operator'),
      },
      run: (admin, { reason, ...named }) => change(admin, named, endpoint => disableWebhook(admin, endpoint, reason)),
      text: formatWebhook,
    }),
    'rotate-secret': operation({
      description: 'Gives a webhook a new secret and prints it, this once. For a time deliveries are signed with both.',
      examples: ['webhook rotate-secret 3 --overlap-hours 48'],
      input: {
        ...onWebhook,
        overlapHours: withDefault(
          '<number>',
          'how long the old secret signs too; 0 ends it at once',
          defaultOverlapHours,
          { parse: parseHours },
        ),
      },
      async run(admin, { id, account, overlapHours }, config) {
        const { id: accountId } = await chooseAccount(admin, account);
        const endpoint = await requireWebhook(admin, accountId, id);
        const secret = await rotateWebhookSecret(admin, await secretBoxOf(config), endpoint, overlapHours);
        return { ...(await readWebhook(admin, accountId, id)), secret };
      },
      text: formatWithSecret,
      warning: secretWarning,
    }),
    delete: operation({
      description: 'Deletes a webhook and the log of its deliveries.',
      examples: ['webhook delete 3'],
      input: onWebhook,
      async run(admin, { id, account }) {
        const { id: accountId } = await chooseAccount(admin, account);
        const webhook = await readWebhook(admin, accountId, id);
        await deleteWebhook(admin, await requireWebhook(admin, accountId, id));
        return webhook;
      },
      text: formatWebhook,
    }),
    test: operation({
      description: 'Sends a webhook an event that tells of nothing.',
      examples: ['webhook test 3'],
      input: onWebhook,
      async run(admin, { id, account }) {
        const { id: accountId } = await chooseAccount(admin, account);
        return { delivery_id: await sendTestEvent(admin, accountId, id) };
      },
      text: ({ delivery_id }, { id }) =>
        `On its way; see webhook deliveries ${id} --delivery ${delivery_id}, once a worker has sent it.`,
    }),
    deliveries: operation({
      description: 'Lists the deliveries to a webhook, newest first, with every try.',
      examples: ['webhook deliveries 3 --state dead', 'webhook deliveries 3 --delivery 1041 --json'],
      input: {
        ...onWebhook,
        state: optional('<state>', 'only those', { choices: ['pending', 'delivered', 'dead'] as const }),
        delivery: optional('<id>', 'only this one', { parse: parsePositive }),
        limit,
      },
      async run(admin, { id, account, delivery, ...filter }) {
        const { id: accountId } = await chooseAccount(admin, account);
        return listDeliveries(admin, accountId, id, { ...filter, ...given({ deliveryId: delivery }) });
      },
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
    redeliver: operation({
      description: 'Sends a delivery again, or all that were given up since a time. The webhook-id stays the same.',
      examples: ['webhook redeliver 3 --delivery 1041', 'webhook redeliver 3 --dead-since 2026-03-14T00:00:00Z'],
      input: {
        ...onWebhook,
        delivery: optional('<id>', 'the delivery, whatever came of it', { parse: parsePositive }),
        deadSince: optional('<time>', 'every dead delivery since an RFC 3339 time', {
          parse: parseTime,
          conflicts: 'delivery',
        }),
      },
      refuse: ({ delivery, deadSince }) =>
        delivery === undefined && deadSince === undefined
          ? 'name what to send: --delivery <id> or --dead-since <time>'
          : undefined,
      async run(admin, { id, account, delivery, deadSince }) {
        const { id: accountId } = await chooseAccount(admin, account);
        if (deadSince) return { redelivered: await redeliverDeadSince(admin, accountId, id, deadSince) };
        await redeliver(admin, accountId, id, delivery ?? 0);
        return { redelivered: 1 };
      },
      text: ({ redelivered }) => `${redelivered} on the way again.`,
    }),
  },
);

/** Does something to a webhook and returns it as it is then. */
async function change(
  admin: Administration,
  { id, account }: { id: number; account?: string },
  work: (endpoint: WebhookEndpoint) => Promise<void>,
) {
  const { id: accountId } = await chooseAccount(admin, account);
  await work(await requireWebhook(admin, accountId, id));
  return readWebhook(admin, accountId, id);
}

async function secretBoxOf(config: Config) {
  return buildSecretBox(await requireAppKey(config));
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (/^[0-9]+$/.test(text) && hours <= maxOverlapHours) return hours;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${maxOverlapHours}.`);
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

function formatEvents({ event_types }: WebhookListing): string {
  return event_types.length === 0 ? 'all' : event_types.join(', ');
}

function formatLastAttempt({ attempts }: DeliveryListing): string | null {
  const last = attempts.at(-1);
  return last ? `${last.error ?? last.status} (${last.duration_ms} ms)` : null;
}
