import { requireAppKey } from '../app-key.ts';
import type { Config } from '../config.ts';
import { buildTestPoster } from '../delivery/chat/post-message.ts';
import type { Administration } from '../domain/administration.ts';
import { deleteChannel, disableChannel, enableChannel, type NamedChannel } from '../domain/chat/change-channels.ts';
import { chatEventTypes } from '../domain/chat/chat-event-types.ts';
import { createChannel } from '../domain/chat/create-channel.ts';
import { type ChannelListing, listChannels, readChannel } from '../domain/chat/list-channels.ts';
import { testChannel } from '../domain/chat/test-channel.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { chatKinds } from '../entities/chat-channel.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { administer, CliError } from './administer.ts';
import { chooseAccount, chooseBoard, chooseFilter, inAccount, onBoard } from './choose.ts';
import {
  argument,
  eventTypesOption,
  given,
  noun,
  operation,
  optional,
  parsePositive,
  required,
  type Values,
  verb,
} from './command.ts';
import { formatFacts, formatTable, print } from './output.ts';

const onChannel = { id: argument('<id>', 'the id of the channel, as chat list shows it', parsePositive), ...inAccount };

export const addChatCommands = noun('chat', 'channels of chats that the events of a board are posted to', {
  create: operation({
    description:
      'Posts what happens on a board to a channel of a chat, through an incoming webhook of it. The URL is kept encrypted.',
    examples: [
      'chat create --board web-app --kind slack --url https://hooks.slack.com/services/T000/B000/XXXX --name "#feedback"',
      'chat create --board web-app --kind discord --url https://discord.com/api/webhooks/123/XXXX --event idea.created',
    ],
    input: {
      ...onBoard,
      kind: required('<kind>', 'the chat', { choices: chatKinds }),
      url: required('<url>', 'the URL of the incoming webhook'),
      name: optional('<name>', 'what the channel is called in lists'),
      event: eventTypesOption(
        'a type of event that is posted, again for each type; all of them when left out',
        chatEventTypes,
      ),
    },
    async run(admin, { account, board, event, ...input }, config) {
      const { id: boardId, accountId } = await chooseBoard(admin, given({ account, board }));
      const secretBox = await secretBoxOf(config);
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
  list: operation({
    description: 'Lists the channels of an account, without what authorizes posting.',
    examples: ['chat list --account acme'],
    input: { ...inAccount, board: optional('<slug>', 'only this board') },
    async run(admin, named, config) {
      const { accountId, boardId } = await chooseFilter(admin, named);
      return listChannels(admin, await secretBoxOf(config), accountId, boardId);
    },
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
    description: 'Posts a message to a channel now, to try it out.',
    examples: ['chat test 3 --account acme'],
    input: onChannel,
    async perform({ id, account }, output) {
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
    },
  }),
  enable: operation({
    description: 'Posts to a channel again. What happened in the meantime is not made up for.',
    examples: ['chat enable 3 --account acme'],
    input: onChannel,
    run: changing(enableChannel),
    text: formatChannel,
  }),
  disable: operation({
    description: 'Posts nothing to a channel until it is enabled.',
    examples: ['chat disable 3 --account acme'],
    input: onChannel,
    run: changing(disableChannel),
    text: formatChannel,
  }),
  delete: operation({
    description: 'Deletes a channel here. The chat keeps its incoming webhook.',
    examples: ['chat delete 3 --account acme'],
    input: onChannel,
    async run(admin, { id, account }, config) {
      const { id: accountId } = await chooseAccount(admin, account);
      const channel = await readChannel(admin, await secretBoxOf(config), accountId, id);
      await deleteChannel(admin, { accountId, id });
      return channel;
    },
    text: formatChannel,
  }),
});

/** Does something to a channel and returns it as it is then. */
function changing(change: (admin: Administration, channel: NamedChannel) => Promise<void>) {
  return async (admin: Administration, { id, account }: Values<typeof onChannel>, config: Config) => {
    const { id: accountId } = await chooseAccount(admin, account);
    await change(admin, { accountId, id });
    return readChannel(admin, await secretBoxOf(config), accountId, id);
  };
}

async function secretBoxOf(config: Config) {
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

function formatEvents({ event_types }: ChannelListing): string {
  return event_types.length === 0 ? 'all' : event_types.join(', ');
}
