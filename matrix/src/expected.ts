/**
 * What is expected of each set-up, in the order of the table's columns: bare, as measured of the official SDKs; and
 * protected, where everything stops, and nothing but silence follows.
 */
import type { Facts } from './facts.ts';
import type { Mode, SetupName } from './setups.ts';

export type Expected = Readonly<Record<SetupName, Readonly<Record<Mode, Facts>>>>;

const STOPS: Facts = ['stops', 'stops', 'silence', '-', '6 of 6'];
const STOPS_AND_CLOSES: Facts = ['stops', 'stops', 'silence', '0 of 20', '6 of 6'];
/** The official SDKs with sessions over HTTP: a cancelled call's request stays open, and so does one hung up on. */
const STATEFUL: Facts = ['stops', 'goes on', 'silence', '20 of 20', '6 of 6'];
/** Those without: the cancel comes to another server object, which knows of no such call. */
const STATELESS: Facts = ['goes on', 'stops', 'an answer', '0 of 20', '3 of 6'];

export const EXPECTED: Expected = {
  'v1 stdio': { bare: ['stops', 'goes on', 'silence', '-', '6 of 6'], protected: STOPS },
  'v1 stateful SSE': { bare: STATEFUL, protected: STOPS_AND_CLOSES },
  'v1 stateful JSON': { bare: STATEFUL, protected: STOPS_AND_CLOSES },
  'v1 stateless SSE': { bare: STATELESS, protected: STOPS_AND_CLOSES },
  'v1 stateless JSON': { bare: STATELESS, protected: STOPS_AND_CLOSES },
  'v2 stdio legacy': { bare: STOPS, protected: STOPS },
  'v2 stdio modern': { bare: STOPS, protected: STOPS },
  'v2 stateful legacy': { bare: STATEFUL, protected: STOPS_AND_CLOSES },
  'v2 handler, legacy leg': { bare: STATELESS, protected: STOPS_AND_CLOSES },
  'v2 handler, modern SSE': { bare: STOPS, protected: STOPS },
  'v2 handler, modern JSON': { bare: STOPS, protected: STOPS },
};
