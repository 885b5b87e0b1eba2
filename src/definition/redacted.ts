/** Stands in the place of a secret, whoever took it out. */
export const REDACTED = '[redacted]'
