import { addTag, listTags, removeTag, requireTag, type TagListing, updateTag } from '../domain/tags/board-tags.ts';
import { changesOnBoard, onBoard } from './choose.ts';
import { argument, given, noun, operation, optional, required } from './command.ts';
import { formatTable } from './output.ts';

/** Every verb answers with all the tags of the board. */
const changeTags = changesOnBoard(listTags);

export const addTagCommands = noun('tag', 'the tags of a board', {
  add: operation({
    description: 'Adds a tag to a board.',
    examples: ['tag add --board web-app --name Billing --color "#0f766e"'],
    input: {
      ...onBoard,
      name: required('<name>', 'what it is called'),
      color: required('<color>', 'its color: # and six hexadecimal digits'),
    },
    run: (admin, { name, color, ...named }) => changeTags(admin, named, board => addTag(admin, board, { name, color })),
    text: formatTags,
  }),
  list: operation({
    description: 'Lists the tags of a board by name.',
    examples: ['tag list --board web-app'],
    input: onBoard,
    run: (admin, named) => changeTags(admin, named, async () => {}),
    text: formatTags,
  }),
  update: operation({
    description: 'Changes a tag. What is not given stays as it is.',
    examples: ['tag update Billing --board web-app --name Payments'],
    input: {
      current: argument('<name>'),
      ...onBoard,
      name: optional('<name>', 'another name'),
      color: optional('<color>', 'another color'),
    },
    run: (admin, { current, account, board: slug, ...changes }) =>
      changeTags(admin, given({ account, board: slug }), async board =>
        updateTag(admin, await requireTag(admin, board, current), changes),
      ),
    text: formatTags,
  }),
  remove: operation({
    description: 'Removes a tag, also from every idea that has it.',
    examples: ['tag remove Billing --board web-app'],
    input: { name: argument('<name>'), ...onBoard },
    run: (admin, { name, ...named }) =>
      changeTags(admin, named, async board => removeTag(admin, await requireTag(admin, board, name))),
    text: formatTags,
  }),
});

export function formatTags(tags: TagListing[]): string {
  return formatTable(tags, 'id', 'name', 'color', ['ideas', 'idea_count']);
}
