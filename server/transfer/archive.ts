import { z } from 'zod';
import { CommentText } from '../../contract/comments.ts';
import { VoteValue } from '../../contract/idea.ts';
import { IdeaInput, Reason } from '../../contract/ideas.ts';
import { maxTagsOfIdea } from '../../contract/limits.ts';
import { NoteText } from '../../contract/notes.ts';
import { StatusCategory } from '../../contract/status.ts';
import { GivenTimestamp, line, text } from '../../contract/text.ts';
import { AdministrationError } from '../domain/administration.ts';
import { maxDescriptionLength } from '../domain/boards/edit-board.ts';
import { checkColor, checkEmail, checkKey, checkSlug } from '../domain/fields.ts';
import { boardLanguages } from '../entities/board-language.ts';
import { roles } from '../entities/membership.ts';

/*
 * The archive of an account: a text file with one JSON object in each line. The first line is the header, and the last
 * line is the end. Each other line is a record. docs/import-export.md describes the format.
 *
 * A record refers to another record by its id. The ids are texts. They stay the same when another server imports and
 * exports the archive.
 */

/** An account, and the prefix that `readOrigin` returns for the account. */
export interface Origin {
  accountId: number;
  origin: string;
}

/** Increase this number when a record gets a new meaning. An import refuses archives with a higher number. */
const archiveVersion = 2;
/** The first version whose archives have an end. */
const firstVersionWithEnd = 2;
export const archiveHeader = { type: 'archive', format: 'idea-board-archive', version: archiveVersion } as const;

const Ref = line(1, 200);
const Time = GivenTimestamp;
const OptionalTime = Time.nullable().default(null);

const PersonRecord = z.strictObject({
  type: z.literal('person'),
  id: Ref,
  name: line(1, 100),
  /** Null for a person who cannot sign in with an e-mail address. */
  email: checkedBy(checkEmail).nullable().default(null),
  /** Null for a person who is not a member of the account. */
  role: z.enum(roles).nullable().default(null),
  joined_at: OptionalTime,
  /** Not null for a person who is blocked in the account. */
  block: z
    .strictObject({ reason: text(0, 500), created_at: Time })
    .nullable()
    .default(null),
});

const BoardRecord = z.strictObject({
  type: z.literal('board'),
  id: Ref,
  slug: checkedBy(checkSlug),
  name: line(1, 100),
  description: text(0, maxDescriptionLength).default(''),
  is_frozen: z.boolean().default(false),
  pre_moderation: z.boolean().default(false),
  is_public: z.boolean().default(false),
  language: z.enum(boardLanguages).default('simple'),
  submissions_open_at: OptionalTime,
  submissions_close_at: OptionalTime,
  voting_open_at: OptionalTime,
  voting_close_at: OptionalTime,
  created_at: Time,
  updated_at: Time,
});

const StatusRecord = z.strictObject({
  type: z.literal('status'),
  id: Ref,
  board: Ref,
  key: checkedBy(value => checkKey(value)),
  category: StatusCategory,
  label: line(1, 60),
  is_hidden: z.boolean().default(false),
  allow_votes: z.boolean().default(true),
  allow_comments: z.boolean().default(true),
  position: z.int().min(0).max(1_000_000),
});

const TagRecord = z.strictObject({
  type: z.literal('tag'),
  id: Ref,
  board: Ref,
  name: line(1, 40),
  color: checkedBy(checkColor),
});

const IdeaRecord = z.strictObject({
  type: z.literal('idea'),
  id: Ref,
  board: Ref,
  status: Ref,
  /** Null for a user who has been erased. */
  author: Ref.nullable(),
  title: IdeaInput.shape.title,
  body: IdeaInput.shape.body,
  tags: z
    .array(Ref)
    .max(maxTagsOfIdea, { error: `An idea has at most ${maxTagsOfIdea} tags` })
    .default([]),
  moderation_state: z.enum(['pending', 'published', 'rejected']).default('published'),
  rejection_reason: Reason.nullable().default(null),
  created_at: Time,
  updated_at: Time,
});

const CommentRecord = z.strictObject({
  type: z.literal('comment'),
  id: Ref,
  idea: Ref,
  /** Null for a user who has been erased. */
  author: Ref.nullable(),
  body: CommentText,
  is_official: z.boolean().default(false),
  created_at: Time,
  edited_at: OptionalTime,
});

const NoteRecord = z.strictObject({
  type: z.literal('note'),
  id: Ref,
  idea: Ref,
  /** Null for a user who has been erased. */
  author: Ref.nullable(),
  body: NoteText,
  created_at: Time,
  edited_at: OptionalTime,
});

const VoterRecord = z.strictObject({
  type: z.literal('voter'),
  id: Ref,
  /** Null for a voter who is not a person: an API token, or a user who has been erased. */
  person: Ref.nullable().default(null),
});

const VoteRecord = z.strictObject({
  type: z.literal('vote'),
  idea: Ref,
  voter: Ref,
  /** The value `none` is a withdrawn vote on the target of a merge (see the entity Vote). */
  value: VoteValue,
  created_at: Time,
});

const MergeRecord = z.strictObject({
  type: z.literal('merge'),
  id: Ref,
  /** The idea that was merged into the target. */
  source: Ref,
  target: Ref,
  merged_at: Time,
  /** Null as long as the ideas are merged. */
  unmerged_at: OptionalTime,
});

const FollowerRecord = z.strictObject({
  type: z.literal('follower'),
  idea: Ref,
  person: Ref,
  created_at: Time,
});

/** The schemas of the records, in the order of an archive: a record refers only to records of earlier types. */
const schemas = {
  person: PersonRecord,
  board: BoardRecord,
  status: StatusRecord,
  tag: TagRecord,
  idea: IdeaRecord,
  comment: CommentRecord,
  note: NoteRecord,
  voter: VoterRecord,
  vote: VoteRecord,
  merge: MergeRecord,
  follower: FollowerRecord,
} as const;

export type RecordType = keyof typeof schemas;
export type RecordOf<Type extends RecordType> = z.output<(typeof schemas)[Type]>;
export type ArchiveRecord = { [Type in RecordType]: RecordOf<Type> }[RecordType];

/** A record as an importer writes it. It may leave out the fields with default values. */
export type GivenRecord = { [Type in RecordType]: z.input<(typeof schemas)[Type]> }[RecordType];

export const recordTypes = Object.keys(schemas) as readonly RecordType[];

const Header = z.strictObject({
  type: z.literal(archiveHeader.type),
  format: z.literal(archiveHeader.format),
  version: z.int().min(1),
});

/** The end of an archive. Without it, an import could not tell a whole archive from the beginning of an archive. */
const End = z.strictObject({ type: z.literal('end'), records: z.int().min(0) });

export function archiveEnd(records: number): z.output<typeof End> {
  return { type: 'end', records };
}

/** Returns the number of records in the end of an archive. Returns undefined for other values. */
export function parseEnd(value: unknown): number | undefined {
  const isEnd = (value as { type?: unknown } | null)?.type === End.shape.type.value;
  return isEnd ? End.safeParse(value).data?.records : undefined;
}

/**
 * Checks the header of an archive. Returns whether the archive must have an end. Throws if the value is not the header
 * of an archive that this server can read.
 */
export function parseHeader(value: unknown): { hasEnd: boolean } {
  const header = Header.safeParse(value);
  if (!header.success) {
    throw new AdministrationError(
      'invalid',
      'The file is not an archive of Idea-Board. Name the product that wrote it with --from.',
    );
  }
  if (header.data.version > archiveVersion) {
    throw new AdministrationError(
      'invalid',
      `The archive has version ${header.data.version}. This server reads archives up to version ${archiveVersion}.`,
    );
  }
  return { hasEnd: header.data.version >= firstVersionWithEnd };
}

/** Returns a record with its default values, or the reason why the record is invalid. */
export function parseRecord(value: unknown): { record: ArchiveRecord } | { problem: string } {
  const type = (value as { type?: unknown } | null)?.type;
  const schema = typeof type === 'string' && Object.hasOwn(schemas, type) ? schemas[type as RecordType] : undefined;
  if (!schema) return { problem: `The type must be one of ${recordTypes.join(', ')}` };
  const parsed = schema.safeParse(value);
  if (parsed.success) return { record: parsed.data };
  const [issue] = parsed.error.issues;
  const path = issue?.path.length ? `${issue.path.join('.')}: ` : '';
  return { problem: `${type}: ${path}${issue?.message ?? 'Invalid'}` };
}

/** The texts that an import may shorten, with the schemas that limit them. */
const shortened: { [Type in RecordType]?: Readonly<Record<string, z.ZodType>> } = {
  person: { name: PersonRecord.shape.name },
  board: { name: BoardRecord.shape.name, description: BoardRecord.shape.description.def.innerType },
  tag: { name: TagRecord.shape.name },
  idea: { title: IdeaRecord.shape.title, body: IdeaRecord.shape.body },
  comment: { body: CommentRecord.shape.body },
  note: { body: NoteRecord.shape.body },
};

/** Shortens the texts of a record to their maximum lengths, and removes the tags above the maximum number. */
export function shorten(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const record = { ...value } as Record<string, unknown>;
  for (const [field, schema] of Object.entries(shortened[record.type as RecordType] ?? {})) {
    const content = record[field];
    if (typeof content === 'string') record[field] = cut(content.trim(), maxLengthOf(schema));
  }
  if (record.type === 'idea' && Array.isArray(record.tags)) record.tags = record.tags.slice(0, maxTagsOfIdea);
  return record;
}

function maxLengthOf(schema: z.ZodType): number {
  const { openapi } = schema.meta() as { openapi: { maxLength: number } };
  return openapi.maxLength;
}

function cut(content: string, max: number): string {
  if (content.length <= max) return content;
  const characters = [...content];
  return characters.length <= max
    ? content
    : `${characters
        .slice(0, max - 1)
        .join('')
        .trimEnd()}…`;
}

/** A schema for a text that a check function of server/domain/ accepts. The check returns the text to store. */
function checkedBy(check: (value: string) => string) {
  return z.string().transform((value, context) => {
    try {
      return check(value);
    } catch (error) {
      if (!(error instanceof AdministrationError)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
      return z.NEVER;
    }
  });
}
