import { isSecretName } from '../redaction/secret-name.ts'

const FLAG = /^--?([A-Za-z][\w-]*)(=.+)?$/
/** Letters and digits in one long word: a token, and no name, path or address. */
const TOKEN = /^(?=.*\d)(?=.*[A-Za-z])[\w+=-]{16,}$/

/** Returns true for an argument of a program that may be a secret: by the flag that it has or follows, or by its looks. */
export function isSecretArgument(argument: unknown, before: unknown): boolean {
  if (typeof argument !== 'string') return false
  const [isFlag, name = '', value] = FLAG.exec(argument) ?? []
  if (isFlag) return value !== undefined && (isSecretName(name) || looksSecret(value.slice(1)))
  const [, flag = '', ownValue] = FLAG.exec(String(before)) ?? []
  return (ownValue === undefined && isSecretName(flag)) || looksSecret(argument)
}

function looksSecret(text: string): boolean {
  return TOKEN.test(text) || /:\/\/[^/]*@/.test(text)
}
