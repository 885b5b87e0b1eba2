import { useState } from 'preact/hooks'

const PREFIX = 'agent-host.'

/** Reads a value from the browser's storage, which may be blocked, or hold data of another version. */
export function readKept<T>(name: string, fallback: T): T {
  try {
    const text = localStorage.getItem(PREFIX + name)
    return text === null ? fallback : (JSON.parse(text) as T)
  } catch {
    return fallback
  }
}

/** Keeps a value in this browser; where that is forbidden it lasts as long as the page. */
export function keep(name: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value))
  } catch {
    // As said above.
  }
}

/** A state that this browser keeps. */
export function useKept<T>(name: string, fallback: T): [T, (value: T) => void] {
  const [value, setValue] = useState(() => readKept(name, fallback))
  const change = (next: T) => {
    keep(name, next)
    setValue(next)
  }
  return [value, change]
}
