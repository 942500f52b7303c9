import { type Command, InvalidArgumentError, Option } from 'commander';
import { requireAppKey } from '../app-key.ts';
import type { Config } from '../config.ts';
import { buildTestPoster } from '../delivery/chat/post-test.ts';
import type { Administration } from '../domain/administration.ts';
import { requireBoard } from '../domain/boards/find-board.ts';
import { deleteChannel, disableChannel, enableChannel, type NamedChannel } from '../domain/chat/change-channels.ts';
import { chatEventTypes } from '../domain/chat/chat-event-types.ts';
import { createChannel } from '../domain/chat/create-channel.ts';
import { type ChannelListing, listChannels, readChannel } from '../domain/chat/list-channels.ts';
import { testChannel } from '../domain/chat/test-channel.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { type ChatKind, chatKinds } from '../entities/chat-channel.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { administer } from './administer.ts';
import { chooseAccount, chooseBoard } from './choose.ts';
import { CliError } from './cli-error.ts';
import { accountOption, addVerb, boardOption, given, parsePositive } from './command.ts';
import { formatFacts, formatTable, type OutputOptions, print } from './output.ts';

interface AccountOptions extends OutputOptions {
  account?: string;
}

interface BoardOptions extends AccountOptions {
  board?: string;
}

interface CreateOptions extends BoardOptions {
  kind: ChatKind;
  url: string;
  name?: string;
  event?: string[];
}

export function addChatCommands(program: Command) {
  const noun = program.command('chat').description('channels of chats that the events of a board are posted to');
  const addVerbOnOne = (verb: string, description: string) =>
    addVerb(noun, verb, description, `chat ${verb} 3 --account acme`)
      .argument('<id>', 'the id of the channel, as chat list shows it', parsePositive)
      .addOption(accountOption());

  addVerb(
    noun,
    'create',
    'Posts what happens on a board to a channel of a chat, through an incoming webhook of it. The URL is kept encrypted.',
    'chat create --board web-app --kind slack --url https://hooks.slack.com/services/T000/B000/XXXX --name "#feedback"',
    'chat create --board web-app --kind discord --url https://discord.com/api/webhooks/123/XXXX --event idea.created',
  )
    .addOption(accountOption())
    .addOption(boardOption())
    .addOption(new Option('--kind <kind>', 'the chat').choices(chatKinds).makeOptionMandatory())
    .requiredOption('--url <url>', 'the URL of the incoming webhook')
    .option('--name <name>', 'what the channel is called in lists')
    .addOption(
      new Option('--event <type>', 'a type of event that is posted, again for each type; all of them when left out')
        .choices(chatEventTypes)
        .argParser(addEvent),
    )
    .action(create);

  addVerb(
    noun,
    'list',
    'Lists the channels of an account, without what authorizes posting.',
    'chat list --account acme',
  )
    .addOption(accountOption())
    .option('--board <slug>', 'only this board')
    .action(list);

  addVerbOnOne('test', 'Posts a message to a channel now, to try it out.').action(test);
  addVerbOnOne('enable', 'Posts to a channel again. What happened in the meantime is not made up for.').action(
    (id: number, options: AccountOptions) => changeOne(id, options, enableChannel),
  );
  addVerbOnOne('disable', 'Posts nothing to a channel until it is enabled.').action(
    (id: number, options: AccountOptions) => changeOne(id, options, disableChannel),
  );
  addVerbOnOne('delete', 'Deletes a channel here. The chat keeps its incoming webhook.').action(remove);
}

async function create({ account, board: slug, kind, url, name, event, ...output }: CreateOptions) {
  const view = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, account);
    const { id: boardId } = await chooseBoard(admin, accountId, slug);
    const secretBox = await secretBoxOf(config);
    const channel = await createChannel(
      admin,
      secretBox,
      { accountId, boardId, kind, url, ...given({ name, eventTypes: event }) },
      buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS),
    );
    return readChannel(admin, secretBox, accountId, channel.id);
  });
  print(output, view, formatChannel);
}

async function list({ account, board, ...output }: BoardOptions) {
  const channels = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, account);
    const boardId = board === undefined ? null : (await requireBoard(admin, accountId, board)).id;
    return listChannels(admin, await secretBoxOf(config), accountId, boardId);
  });
  print(output, channels, rows =>
    formatTable(rows, {
      ID: channel => channel.id,
      BOARD: channel => channel.board,
      KIND: channel => channel.kind,
      NAME: channel => channel.name,
      URL: formatUrl,
      EVENTS: formatEvents,
      DISABLED: channel => channel.disabled_reason,
    }),
  );
}

async function test(id: number, { account, ...output }: AccountOptions) {
  const { config, post } = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, account);
    return { config, post: await testChannel(admin, await secretBoxOf(config), { accountId, id }) };
  });
  const tester = buildTestPoster(config);
  try {
    const failure = await post(tester.postTest);
    if (failure !== undefined) throw new CliError(`The message was not posted: ${failure}`);
  } finally {
    tester.close();
  }
  print(output, { id, is_posted: true }, () => 'The message was posted.');
}

async function remove(id: number, { account, ...output }: AccountOptions) {
  const view = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, account);
    const channel = await readChannel(admin, await secretBoxOf(config), accountId, id);
    await deleteChannel(admin, { accountId, id });
    return channel;
  });
  print(output, view, formatChannel);
}

/** Does something to a channel and prints what it is then. */
async function changeOne(
  id: number,
  { account, ...output }: AccountOptions,
  change: (admin: Administration, channel: NamedChannel) => Promise<void>,
) {
  const view = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, account);
    await change(admin, { accountId, id });
    return readChannel(admin, await secretBoxOf(config), accountId, id);
  });
  print(output, view, formatChannel);
}

async function secretBoxOf(config: Config) {
  return buildSecretBox(await requireAppKey(config));
}

function addEvent(text: string, previous: string[] | undefined): string[] {
  if (!chatEventTypes.some(type => type === text)) {
    throw new InvalidArgumentError(`It must be one of ${chatEventTypes.join(', ')}.`);
  }
  return [...(previous ?? []), text];
}

function formatChannel(channel: ChannelListing): string {
  return formatFacts({
    id: channel.id,
    board: channel.board,
    kind: channel.kind,
    name: channel.name,
    url: formatUrl(channel),
    events: formatEvents(channel),
    disabled: channel.disabled_at,
    reason: channel.disabled_reason,
    created: channel.created_at,
  });
}

function formatUrl({ url }: ChannelListing): string {
  return url ?? 'encrypted with another APP_KEY';
}

function formatEvents({ event_types }: ChannelListing): string {
  return event_types.length === 0 ? 'all' : event_types.join(', ');
}
