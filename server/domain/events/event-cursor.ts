import { hash } from 'node:crypto';
import { keptEventDays } from '../../../contract/limits.ts';

/**
 * How many hours events are kept: a little longer than the API promises. A cursor has only the hour, and a transaction
 * may commit an event some minutes late. Nevertheless, the events after a valid cursor must exist.
 */
export const keptEventHours = keptEventDays * 24 + 2;

/** A place in the events of a board. All events with a greater position come after it. */
export interface EventCursor {
  boardId: number;
  /** The position of the last event before this place. 0 is the place before all events. */
  position: number;
  /** The first eight hex digits of the id of that event, or 00000000 without an event. */
  event: string;
  /** Identifies the database and its history. A restored backup, a new cluster and a failover have another one. */
  incarnation: string;
  /**
   * The last hour when this place was the newest place, counted since 1970. If the server keeps events for a shorter
   * time, it may have deleted events after this place.
   */
  hour: number;
}

const version = 1;
const bodyLength = 29;
const checksumLength = 4;

/** Writes a cursor as text. The checksum finds typing errors and truncated cursors. It is no protection: it is public. */
export function encodeEventCursor({ boardId, position, event, incarnation, hour }: EventCursor): string {
  const bytes = Buffer.alloc(bodyLength + checksumLength);
  bytes.writeUInt8(version, 0);
  bytes.writeBigUInt64BE(BigInt(boardId), 1);
  bytes.writeBigUInt64BE(BigInt(position), 9);
  bytes.write(event, 17, 'hex');
  bytes.write(incarnation, 21, 'hex');
  bytes.writeUInt32BE(hour, 25);
  checksumOf(bytes).copy(bytes, bodyLength);
  return bytes.toString('base64url');
}

/** Reads a cursor. Returns undefined if the text is no cursor. */
export function decodeEventCursor(text: string): EventCursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  if (bytes.length !== bodyLength + checksumLength || bytes.toString('base64url') !== text) return undefined;
  if (!checksumOf(bytes).equals(bytes.subarray(bodyLength)) || bytes.readUInt8(0) !== version) return undefined;
  const cursor = {
    boardId: Number(bytes.readBigUInt64BE(1)),
    position: Number(bytes.readBigUInt64BE(9)),
    event: bytes.toString('hex', 17, 21),
    incarnation: bytes.toString('hex', 21, 25),
    hour: bytes.readUInt32BE(25),
  };
  return Number.isSafeInteger(cursor.boardId) && Number.isSafeInteger(cursor.position) ? cursor : undefined;
}

export function hourOf(time: Date): number {
  return Math.floor(time.getTime() / 3_600_000);
}

/** Shortens the facts that identify a database. */
export function incarnationOf(facts: string): string {
  return hash('sha256', facts).slice(0, 8);
}

function checksumOf(bytes: Buffer): Buffer {
  return hash('sha256', bytes.subarray(0, bodyLength), 'buffer').subarray(0, checksumLength);
}
