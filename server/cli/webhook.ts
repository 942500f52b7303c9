import { type Command, InvalidArgumentError, Option } from 'commander';
import { eventTypes } from '../../contract/events.ts';
import { requireAppKey } from '../app-key.ts';
import type { Config } from '../config.ts';
import type { Administration } from '../domain/administration.ts';
import { requireBoard } from '../domain/boards/find-board.ts';
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
import type { DeliveryState, WebhookEndpoint } from '../entities/webhook.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { administer } from './administer.ts';
import { chooseAccount } from './choose.ts';
import { accountOption, addVerb, given, limitOption, parsePositive, parseTime } from './command.ts';
import { formatFacts, formatTable, type OutputOptions, print, shorten } from './output.ts';

interface AccountOptions extends OutputOptions {
  account?: string;
}

interface CreateOptions extends AccountOptions {
  url: string;
  board?: string;
  event?: string[];
  description?: string;
}

interface UpdateOptions extends AccountOptions {
  url?: string;
  event?: string[];
  allEvents?: true;
  description?: string;
}

interface DisableOptions extends AccountOptions {
  reason: string;
}

interface RotateOptions extends AccountOptions {
  overlapHours: number;
}

interface DeliveriesOptions extends AccountOptions {
  state?: DeliveryState;
  delivery?: number;
  limit: number;
}

interface RedeliverOptions extends AccountOptions {
  delivery?: number;
  deadSince?: Date;
}

export function addWebhookCommands(program: Command) {
  const noun = program
    .command('webhook')
    .description('webhooks: addresses that are told of what happens on the boards of an account');
  const addVerbOnOne = (verb: string, description: string, ...examples: string[]) =>
    addVerb(noun, verb, description, ...examples)
      .argument('<id>', 'the id of the webhook, as webhook list shows it', parsePositive)
      .addOption(accountOption());

  addVerb(
    noun,
    'create',
    'Registers a webhook and prints its secret, this once: it is kept encrypted. Deliveries are signed with it.',
    'webhook create --url https://hooks.example.com/ideas',
    'webhook create --account acme --board web-app --url https://hooks.example.com/ideas --event idea.created --event idea.merged',
  )
    .addOption(accountOption())
    .requiredOption('--url <url>', 'where deliveries are posted to')
    .option('--board <slug>', 'the board whose events it is told; every board of the account when left out')
    .addOption(eventOption('a type of event that it is told, again for each type; every type when left out'))
    .option('--description <text>', 'what it is for')
    .action(create);

  addVerb(noun, 'list', 'Lists the webhooks of an account, without their secrets.', 'webhook list --account acme')
    .addOption(accountOption())
    .action(list);

  addVerbOnOne('show', 'Shows a webhook.', 'webhook show 3').action(show);

  addVerbOnOne(
    'update',
    'Changes a webhook. What is not given stays as it is; what is on its way goes to the new URL.',
    'webhook update 3 --url https://hooks.example.com/v2/ideas',
  )
    .option('--url <url>', 'another URL')
    .addOption(
      eventOption('the types of events that it is told from now on, again for each type').conflicts('allEvents'),
    )
    .option('--all-events', 'tell it every type')
    .option('--description <text>', 'another description')
    .action(update);

  addVerbOnOne(
    'enable',
    'Sends to a webhook again. What was given up meanwhile is sent with webhook redeliver.',
    'webhook enable 3',
  ).action(enable);

  addVerbOnOne('disable', 'Sends nothing more to a webhook, and gives up what is on its way.', 'webhook disable 3')
    .option('--reason <text>', 'why, for those who find it disabled', 'Disabled by the operator')
    .action(disable);

  addVerbOnOne(
    'rotate-secret',
    'Gives a webhook a new secret and prints it, this once. For a time deliveries are signed with both.',
    'webhook rotate-secret 3 --overlap-hours 48',
  )
    .option(
      '--overlap-hours <number>',
      'how long the old secret signs too; 0 ends it at once',
      parseHours,
      defaultOverlapHours,
    )
    .action(rotateSecret);

  addVerbOnOne('delete', 'Deletes a webhook and the log of its deliveries.', 'webhook delete 3').action(remove);

  addVerbOnOne('test', 'Sends a webhook an event that tells of nothing.', 'webhook test 3').action(sendTest);

  addVerbOnOne(
    'deliveries',
    'Lists the deliveries to a webhook, newest first, with every try.',
    'webhook deliveries 3 --state dead',
    'webhook deliveries 3 --delivery 1041 --json',
  )
    .addOption(new Option('--state <state>', 'only those').choices(['pending', 'delivered', 'dead']))
    .option('--delivery <id>', 'only this one', parsePositive)
    .addOption(limitOption())
    .action(deliveries);

  addVerbOnOne(
    'redeliver',
    'Sends a delivery again, or all that were given up since a time. The webhook-id stays the same.',
    'webhook redeliver 3 --delivery 1041',
    'webhook redeliver 3 --dead-since 2026-03-14T00:00:00Z',
  )
    .option('--delivery <id>', 'the delivery, whatever came of it', parsePositive)
    .addOption(
      new Option('--dead-since <time>', 'every dead delivery since an RFC 3339 time')
        .argParser(parseTime)
        .conflicts('delivery'),
    )
    .action(sendAgain);
}

async function create({ account: slug, board: boardSlug, event, json, ...input }: CreateOptions) {
  const view = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, slug);
    const board = boardSlug === undefined ? undefined : await requireBoard(admin, accountId, boardSlug);
    const { endpoint, secret } = await createWebhook(
      admin,
      await secretBoxOf(config),
      { ...input, ...given({ eventTypes: event }), accountId, boardId: board?.id ?? null },
      buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS),
    );
    return { ...(await readWebhook(admin, accountId, endpoint.id)), secret };
  });
  printWithSecret(given({ json }), view);
}

async function list({ account: slug, ...output }: AccountOptions) {
  const webhooks = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    return listWebhooks(admin, accountId);
  });
  print(output, webhooks, rows =>
    formatTable(rows, {
      ID: webhook => webhook.id,
      URL: webhook => shorten(webhook.url),
      BOARD: webhook => webhook.board ?? 'all',
      EVENTS: formatEvents,
      STATE: webhook => webhook.state,
      PENDING: webhook => webhook.pending_count,
      DESCRIPTION: webhook => shorten(webhook.description, 40),
    }),
  );
}

async function show(id: number, options: AccountOptions) {
  await changeOne(id, options, async () => {});
}

async function update(id: number, { url, event, allEvents, description, ...options }: UpdateOptions) {
  const eventTypes = allEvents ? [] : event;
  await changeOne(id, options, (admin, endpoint, config) => {
    const guard = buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS);
    return updateWebhook(admin, endpoint, given({ url, eventTypes, description }), guard);
  });
}

async function enable(id: number, options: AccountOptions) {
  await changeOne(id, options, enableWebhook);
}

async function disable(id: number, { reason, ...options }: DisableOptions) {
  await changeOne(id, options, (admin, endpoint) => disableWebhook(admin, endpoint, reason));
}

async function rotateSecret(id: number, { account: slug, overlapHours, ...output }: RotateOptions) {
  const view = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, slug);
    const endpoint = await requireWebhook(admin, accountId, id);
    const secret = await rotateWebhookSecret(admin, await secretBoxOf(config), endpoint, overlapHours);
    return { ...(await readWebhook(admin, accountId, id)), secret };
  });
  printWithSecret(output, view);
}

async function remove(id: number, { account: slug, ...output }: AccountOptions) {
  const view = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    const webhook = await readWebhook(admin, accountId, id);
    await deleteWebhook(admin, await requireWebhook(admin, accountId, id));
    return webhook;
  });
  print(output, view, formatWebhook);
}

async function sendTest(id: number, { account: slug, ...output }: AccountOptions) {
  const view = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    return { delivery_id: await sendTestEvent(admin, accountId, id) };
  });
  print(
    output,
    view,
    ({ delivery_id }) =>
      `On its way; see webhook deliveries ${id} --delivery ${delivery_id}, once a worker has sent it.`,
  );
}

async function deliveries(id: number, { account: slug, state, delivery, limit, ...output }: DeliveriesOptions) {
  const listed = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    return listDeliveries(admin, accountId, id, { ...given({ state, deliveryId: delivery }), limit });
  });
  print(output, listed, rows =>
    formatTable(rows, {
      ID: one => one.id,
      TYPE: one => one.type,
      STATE: one => one.state,
      TRIES: one => one.attempts.length,
      'LAST ANSWER': formatLastAttempt,
      CREATED: one => one.created_at,
      'NEXT TRY': one => one.next_attempt_at,
    }),
  );
}

async function sendAgain(
  id: number,
  { account: slug, delivery, deadSince, ...output }: RedeliverOptions,
  command: Command,
) {
  if (delivery === undefined && deadSince === undefined) {
    command.error('error: name what to send: --delivery <id> or --dead-since <time>', { exitCode: 2 });
  }
  const view = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    if (deadSince) return { redelivered: await redeliverDeadSince(admin, accountId, id, deadSince) };
    await redeliver(admin, accountId, id, delivery ?? 0);
    return { redelivered: 1 };
  });
  print(output, view, ({ redelivered }) => `${redelivered} on the way again.`);
}

/** Does something to a webhook and prints what it is then. */
async function changeOne(
  id: number,
  { account: slug, ...output }: AccountOptions,
  change: (admin: Administration, endpoint: WebhookEndpoint, config: Config) => Promise<void>,
) {
  const view = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, slug);
    await change(admin, await requireWebhook(admin, accountId, id), config);
    return readWebhook(admin, accountId, id);
  });
  print(output, view, formatWebhook);
}

function printWithSecret(output: OutputOptions, view: WebhookListing & { secret: string }) {
  print(output, view, ({ secret, ...webhook }) => `${formatWebhook(webhook)}\n\n${secret}`);
  if (!output.json) process.stderr.write('This is the only time that the secret is shown.\n');
}

async function secretBoxOf(config: Config) {
  return buildSecretBox(await requireAppKey(config));
}

function eventOption(description: string) {
  return new Option('--event <type>', description).choices(eventTypes).argParser(addEvent);
}

function addEvent(text: string, previous: string[] | undefined): string[] {
  if (!eventTypes.some(type => type === text)) {
    throw new InvalidArgumentError(`It must be one of ${eventTypes.join(', ')}.`);
  }
  return [...(previous ?? []), text];
}

function parseHours(text: string): number {
  const hours = Number(text);
  if (/^[0-9]+$/.test(text) && hours <= maxOverlapHours) return hours;
  throw new InvalidArgumentError(`It must be a whole number from 0 to ${maxOverlapHours}.`);
}

function formatWebhook(webhook: WebhookListing): string {
  return formatFacts({
    id: webhook.id,
    url: webhook.url,
    description: webhook.description,
    board: webhook.board ?? 'all',
    events: formatEvents(webhook),
    state: webhook.state,
    'failing since': webhook.failing_since,
    disabled: webhook.disabled_at,
    reason: webhook.disabled_reason,
    'old secret until': webhook.previous_secret_expires_at,
    pending: webhook.pending_count,
    created: webhook.created_at,
  });
}

function formatEvents({ event_types }: WebhookListing): string {
  return event_types.length === 0 ? 'all' : event_types.join(', ');
}

function formatLastAttempt({ attempts }: DeliveryListing): string | null {
  const last = attempts.at(-1);
  return last ? `${last.error ?? last.status} (${last.duration_ms} ms)` : null;
}
