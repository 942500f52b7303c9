import { hash } from 'node:crypto';
import { keptEventDays } from '../../../contract/limits.ts';

/**
 * How many hours the server keeps events: two hours longer than the API promises. A cursor contains only a full hour,
 * and a transaction may commit an event minutes after recording it. The additional time ensures that no event after a
 * valid cursor is deleted.
 */
export const keptEventHours = keptEventDays * 24 + 2;

/** A cursor: a place in the list of events of a board. All events with a greater position come after the cursor. */
export interface EventCursor {
  boardId: number;
  /** The position of the last event before the cursor. 0 if the cursor is before all events. */
  position: number;
  /**
   * The first eight hex digits of the id of the last event before the cursor, or 00000000 if there is no such event.
   */
  event: string;
  /**
   * Identifies the database. After a restore from a backup, a move to a new cluster or a failover, the value differs.
   */
  incarnation: string;
  /**
   * The hour of the next event after the cursor, as a number of hours since 1970. If no event came after the cursor yet,
   * the hour when the server returned the cursor. If this hour is too long ago, events after the cursor may have been
   * deleted.
   */
  hour: number;
  /**
   * The hour of the last event before the cursor. If this hour is too long ago, that event may have been deleted. If
   * there is no such event, the value has no meaning.
   */
  eventHour: number;
}

const version = 1;
const bodyLength = 29;
const checksumLength = 4;

/** The number of bits for an hour: enough until the year 2089. The other bits of its four bytes are for `eventHour`. */
const hourUnit = 2 ** 20;
/** The maximum number of hours that the text of a cursor can store between `eventHour` and `hour`. */
const maxAge = 2 ** 12 - 1;

/**
 * Writes a cursor as text. The checksum detects typing errors and truncated cursors. It does not prevent forgery,
 * because everybody can compute it.
 */
export function encodeEventCursor({ boardId, position, event, incarnation, hour, eventHour }: EventCursor): string {
  const bytes = Buffer.alloc(bodyLength + checksumLength);
  bytes.writeUInt8(version, 0);
  bytes.writeBigUInt64BE(BigInt(boardId), 1);
  bytes.writeBigUInt64BE(BigInt(position), 9);
  bytes.write(event, 17, 'hex');
  bytes.write(incarnation, 21, 'hex');
  const age = Math.min(Math.max(0, hour - eventHour), maxAge);
  bytes.writeUInt32BE(age * hourUnit + hour, 25);
  checksumOf(bytes).copy(bytes, bodyLength);
  return bytes.toString('base64url');
}

/** Reads a cursor. Returns undefined if the text is no cursor. */
export function decodeEventCursor(text: string): EventCursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== bodyLength + checksumLength || bytes.toString('base64url') !== text) return undefined;
  if (!checksumOf(bytes).equals(bytes.subarray(bodyLength)) || bytes.readUInt8(0) !== version) return undefined;
  const hours = bytes.readUInt32BE(25);
  const hour = hours % hourUnit;
  const cursor = {
    boardId: Number(bytes.readBigUInt64BE(1)),
    position: Number(bytes.readBigUInt64BE(9)),
    event: bytes.toString('hex', 17, 21),
    incarnation: bytes.toString('hex', 21, 25),
    hour,
    eventHour: hour - Math.floor(hours / hourUnit),
  };
  return Number.isSafeInteger(cursor.boardId) && Number.isSafeInteger(cursor.position) ? cursor : undefined;
}

export const hourMs = 3_600_000;

export function hourOf(time: Date): number {
  return Math.floor(time.getTime() / hourMs);
}

/** Returns a short hash of the facts that identify a database. */
export function incarnationOf(facts: string): string {
  return hash('sha256', facts).slice(0, 8);
}

function checksumOf(bytes: Buffer): Buffer {
  return hash('sha256', bytes.subarray(0, bodyLength), 'buffer').subarray(0, checksumLength);
}
