import { requireAppKey } from '../app-key.ts';
import type { Config } from '../config.ts';
import { buildTestPoster } from '../delivery/chat/post-message.ts';
import {
  chatEventTypes,
  createChannel,
  deleteChannel,
  disableChannel,
  enableChannel,
  testChannel,
} from '../domain/chat/channels.ts';
import { type ChannelListing, listChannels, readChannel } from '../domain/chat/list-channels.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { chatKinds } from '../entities/chat-channel.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { administer, CliError } from './administer.ts';
import { chooseAccount, inAccount, onBoard, onBoards, onTarget } from './choose.ts';
import { argument, given, noun, optional, parsePositive, repeatable, required, verb } from './command.ts';
import { formatFacts, formatTable, print } from './output.ts';

const channel = { id: argument('<id>', 'the id of the channel, from chat list', parsePositive), ...inAccount };

const onChannel = onTarget(channel, async (admin, { id, account }, config) => {
  const { id: accountId } = await chooseAccount(admin, account);
  return { id, accountId, read: async () => readChannel(admin, await openSecretBox(config), accountId, id) };
});

const changeChannel = onChannel.changing((_, channel) => channel.read(), formatChannel);

export const addChatCommands = noun('chat', 'chat channels that get the events of a board', {
  create: onBoard.operation({
    description:
      "Posts the events of a board to a chat channel through the chat's incoming webhook. The URL is stored encrypted.",
    examples: [
      'chat create --board web-app --kind slack --url https://hooks.slack.com/services/T000/B000/XXXX --name "#feedback"',
      'chat create --board web-app --kind discord --url https://discord.com/api/webhooks/123/XXXX --event idea.created',
    ],
    input: {
      kind: required('<kind>', 'the chat', { choices: chatKinds }),
      url: required('<url>', 'the URL of the incoming webhook'),
      name: optional('<name>', 'the name in lists'),
      event: repeatable('<type>', 'an event type to post; repeatable; every type if omitted', chatEventTypes),
    },
    async run(admin, { id: boardId, accountId }, { event, ...input }, config) {
      const secretBox = await openSecretBox(config);
      const channel = await createChannel(
        admin,
        secretBox,
        { accountId, boardId, ...input, ...given({ eventTypes: event }) },
        buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS),
      );
      return readChannel(admin, secretBox, accountId, channel.id);
    },
    text: formatChannel,
  }),
  list: onBoards.operation({
    description: 'Lists the channels of an account without the secret part of their URLs.',
    examples: ['chat list --account acme'],
    run: async (admin, { accountId, boardId }, _, config) =>
      listChannels(admin, await openSecretBox(config), accountId, boardId),
    text: rows =>
      formatTable(
        rows,
        'id',
        'board',
        'kind',
        'name',
        ['url', formatUrl],
        ['events', formatEvents],
        ['disabled', 'disabled_reason'],
      ),
  }),
  test: verb({
    description: 'Posts a test message to a channel.',
    examples: ['chat test 3 --account acme'],
    input: channel,
    async perform({ id, account }, output) {
      const { config, post } = await administer(async (admin, config) => {
        const { id: accountId } = await chooseAccount(admin, account);
        return { config, post: await testChannel(admin, await openSecretBox(config), { accountId, id }) };
      });
      const tester = buildTestPoster(config);
      try {
        const failure = await post(tester.postTest);
        if (failure !== undefined) throw new CliError(`The message was not posted: ${failure}`);
      } finally {
        tester.close();
      }
      print(output, { id, is_posted: true }, () => 'The message was posted.');
    },
  }),
  enable: changeChannel({
    description: 'Resumes posting to a channel. The events since it was disabled are not posted.',
    examples: ['chat enable 3 --account acme'],
    change: enableChannel,
  }),
  disable: changeChannel({
    description: 'Stops posting to a channel until chat enable.',
    examples: ['chat disable 3 --account acme'],
    change: disableChannel,
  }),
  delete: onChannel.operation({
    description: 'Deletes a channel. The incoming webhook in the chat stays.',
    examples: ['chat delete 3 --account acme'],
    async run(admin, channel) {
      const before = await channel.read();
      await deleteChannel(admin, channel);
      return before;
    },
    text: formatChannel,
  }),
});

export async function openSecretBox(config: Config) {
  return buildSecretBox(await requireAppKey(config));
}

function formatChannel(channel: ChannelListing): string {
  const { id, board, kind, name, disabled_at, disabled_reason: reason, created_at } = channel;
  const url = formatUrl(channel);
  return formatFacts({ id, board, kind, name, url, events: formatEvents(channel), disabled_at, reason, created_at });
}

function formatUrl({ url }: ChannelListing): string {
  return url ?? 'encrypted with another APP_KEY';
}

export function formatEvents({ event_types }: { event_types: readonly string[] }): string {
  return event_types.length === 0 ? 'all' : event_types.join(', ');
}
