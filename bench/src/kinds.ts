/** What is compared, by its protection: bare against bare is what the noise looks like in that run. */

export const KINDS = { bare: 'bare', again: 'bare', protected: 'protected' } as const;

export type Kind = keyof typeof KINDS;

export const ALL_KINDS = Object.keys(KINDS) as Kind[];
