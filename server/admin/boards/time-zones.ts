import { currentLocale } from '../../text/language.ts';

/*
 * The functions of this file convert local times to points in time ("instants"). Forms send local times, and the
 * database stores instants. JavaScript itself can only convert an instant to a local time.
 */

const renamed: Record<string, string> = {
  'Africa/Asmera': 'Africa/Asmara',
  'America/Buenos_Aires': 'America/Argentina/Buenos_Aires',
  'America/Godthab': 'America/Nuuk',
  'Asia/Calcutta': 'Asia/Kolkata',
  'Asia/Katmandu': 'Asia/Kathmandu',
  'Asia/Rangoon': 'Asia/Yangon',
  'Asia/Saigon': 'Asia/Ho_Chi_Minh',
  'Atlantic/Faeroe': 'Atlantic/Faroe',
  'Europe/Kiev': 'Europe/Kyiv',
  'Pacific/Ponape': 'Pacific/Pohnpei',
  'Pacific/Truk': 'Pacific/Chuuk',
};

/** The time zones under their current names. JavaScript lists some time zones under older names. */
export const timeZones: readonly string[] = [
  ...new Set(['UTC', ...Intl.supportedValuesOf('timeZone').map(zone => renamed[zone] ?? zone)]),
].sort();

export function isTimeZone(name: string): boolean {
  return timeZones.includes(name);
}

export interface Zone {
  name: string;
  /** Formats an instant as a local time for a datetime-local field. */
  localTextOf(time: Date): string;
  /**
   * Returns the points in time (instants) that a local time can mean, the earlier first. Most local times mean one
   * instant. A local time that the clocks skip means none. A local time that occurs twice, when clocks go back, means
   * two. Returns undefined for an invalid text.
   */
  timesOf(localText: string): Date[] | undefined;
  /** Formats an instant as a local time for people, with the offset from UTC. */
  show(time: Date): string;
}

export function openZone(name: string): Zone {
  const clock = new Intl.DateTimeFormat('en-u-ca-gregory-nu-latn', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });

  /** Returns an instant's local time as a number: the milliseconds from 1970 until the same date and time in UTC. */
  function localMsAt(timeMs: number): number {
    const parts = Object.fromEntries(clock.formatToParts(timeMs).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) + (timeMs % 1000);
  }

  return {
    name,
    localTextOf: time => withoutZeros(new Date(localMsAt(time.getTime())).toISOString().slice(0, -1)),
    timesOf(localText) {
      const localMs = parseLocal(localText);
      if (localMs === undefined) return undefined;
      // The time zone's offsets from UTC a day before and a day after the local time. The two offsets differ if the
      // clocks change between these two times.
      const offsets = [-dayMs, dayMs].map(away => localMsAt(localMs + away) - (localMs + away));
      return [...new Set(offsets)]
        .map(offset => localMs - offset)
        .filter(timeMs => localMsAt(timeMs) === localMs)
        .sort((one, other) => one - other)
        .map(timeMs => new Date(timeMs));
    },
    show(time) {
      const seconds = time.getTime() % 60_000 === 0 ? {} : ({ second: '2-digit' } as const);
      const format = new Intl.DateTimeFormat(currentLocale(), {
        day: 'numeric',
        month: 'short',
        year: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
        ...seconds,
        timeZone: name,
        timeZoneName: 'shortOffset',
      });
      return format.format(time).replace(/GMT(\+0$)?/, 'UTC');
    },
  };
}

const dayMs = 86_400_000;

/**
 * The first and the last year that people can enter in a date field. The year 9999 is not allowed, because in some time
 * zones its last hours are in the year 10000 in UTC.
 */
const [firstYear, lastYear] = [1970, 9998];

export const localBounds = { min: `${firstYear}-01-01T00:00`, max: `${lastYear}-12-31T23:59` };

/** Parses the text of a local time as if it were in UTC. Returns undefined if the text is no local time. */
function parseLocal(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text)) return undefined;
  const time = new Date(`${text}Z`);
  // Refuses a day that does not exist. JavaScript would read February 30 as a day in March.
  if (Number.isNaN(time.getTime()) || time.toISOString().slice(0, 16) !== text.slice(0, 16)) return undefined;
  const year = time.getUTCFullYear();
  return year >= firstYear && year <= lastYear ? time.getTime() : undefined;
}

/** Removes the seconds of a local time if they are zero. */
function withoutZeros(text: string): string {
  return text.replace(/(:00)?\.000$/, '');
}
