/** `1 call`, `2 calls`. @param others plural of a noun that does not just take an s */
export function plural(count: number, noun: string, others = `${noun}s`): string {
  return `${count} ${new Intl.PluralRules('en').select(count) === 'one' ? noun : others}`
}
