import { addTag, listTags, removeTag, requireTag, type TagListing, updateTag } from '../domain/tags/board-tags.ts';
import { onBoard } from './choose.ts';
import { argument, noun, optional, required } from './command.ts';
import { formatTable } from './output.ts';

const changeTags = onBoard.changing(listTags, formatTags);

export const addTagCommands = noun('tag', 'the tags of a board', {
  add: changeTags({
    description: 'Adds a tag to a board.',
    examples: ['tag add --board web-app --name Billing --color "#0f766e"'],
    input: {
      name: required('<name>', 'the name'),
      color: required('<color>', 'the color: # and six hexadecimal digits'),
    },
    change: addTag,
  }),
  list: onBoard.operation({
    description: 'Lists the tags of a board by name.',
    examples: ['tag list --board web-app'],
    run: listTags,
    text: formatTags,
  }),
  update: changeTags({
    description: 'Changes a tag. Omitted options stay unchanged.',
    examples: ['tag update Billing --board web-app --name Payments'],
    input: {
      current: argument('<name>'),
      name: optional('<name>', 'another name'),
      color: optional('<color>', 'another color'),
    },
    change: async (admin, board, { current, ...changes }) =>
      updateTag(admin, await requireTag(admin, board, current), changes),
  }),
  remove: changeTags({
    description: 'Removes a tag from the board and from its ideas.',
    examples: ['tag remove Billing --board web-app'],
    input: { name: argument('<name>') },
    change: async (admin, board, { name }) => removeTag(admin, await requireTag(admin, board, name)),
  }),
});

export function formatTags(tags: TagListing[]): string {
  return formatTable(tags, 'id', 'name', 'color', ['ideas', 'idea_count']);
}
