/*
 * The time of day in a zone, and the time that it is: what a form sends is the former, what is stored the latter. The
 * runtime knows the rules of every zone, but only tells what its clocks show at a time; the way back is here.
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

/** The zones that can be chosen, by the names of today: the runtime lists some under older ones. */
export const timeZones: readonly string[] = [
  ...new Set(['UTC', ...Intl.supportedValuesOf('timeZone').map(zone => renamed[zone] ?? zone)]),
].sort();

/** Whether it is one of the zones that can be chosen. */
export function isTimeZone(name: string): boolean {
  return timeZones.includes(name);
}

/** The clocks of a zone. */
export interface Zone {
  name: string;
  /** What the clocks show at a time, as a field of the type datetime-local has it. */
  localTextOf(time: Date): string;
  /**
   * The times at which the clocks show a text of such a field, the first one first: one as a rule, none where clocks go
   * forward over it, two where they go back over it. Undefined for what is no day and time of a calendar.
   */
  timesOf(localText: string): Date[] | undefined;
  /** The time in the zone, for people, with how far the zone is from UTC. */
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

  /** What the clocks show, as the time at which those of UTC show it. */
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
      // Of a zone that changes its offset near that day, one of the two is that of before and one that of after.
      const offsets = [-dayMs, dayMs].map(away => localMsAt(localMs + away) - (localMs + away));
      return [...new Set(offsets)]
        .map(offset => localMs - offset)
        .filter(timeMs => localMsAt(timeMs) === localMs)
        .sort((one, other) => one - other)
        .map(timeMs => new Date(timeMs));
    },
    show(time) {
      const seconds = time.getTime() % 60_000 === 0 ? {} : ({ second: '2-digit' } as const);
      const format = new Intl.DateTimeFormat('en-GB', {
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

/** The years that a field can name, in whichever zone: the first hours of 9999 are still 9998 in some, the last are 10000. */
const [firstYear, lastYear] = [1970, 9998];

/** The bounds of a field, as its attributes name them. */
export const localBounds = { min: `${firstYear}-01-01T00:00`, max: `${lastYear}-12-31T23:59` };

/** The time at which the clocks of UTC show it; undefined for what is no day and time of a calendar. */
function parseLocal(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text)) return undefined;
  const time = new Date(`${text}Z`);
  // A 30th of February is taken for the 1st or 2nd of March.
  if (Number.isNaN(time.getTime()) || time.toISOString().slice(0, 16) !== text.slice(0, 16)) return undefined;
  const year = time.getUTCFullYear();
  return year >= firstYear && year <= lastYear ? time.getTime() : undefined;
}

/** A field shows no seconds where there are none. */
function withoutZeros(text: string): string {
  return text.replace(/(:00)?\.000$/, '');
}
