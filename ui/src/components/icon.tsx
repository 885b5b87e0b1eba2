const PATHS = {
  logo: 'M6 4v16M18 4v16M6 8h10m0 0-3-2.5M16 8l-3 2.5M18 16H8m0 0 3-2.5M8 16l3 2.5',
  agents: 'M12 8V5m-5 3h10a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2H7a2 2 0 0 1-2-2v-7a2 2 0 0 1 2-2Zm2 5v1m6-1v1',
  play: 'M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-6l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2Z',
  runs: 'M4 6h16M4 12h16M4 18h10',
  metrics: 'M4 20V10m5 10V4m6 16v-8m5 8V7',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm0-5v2m0 14v2m9-9h-2M5 12H3m15.4-6.4L17 7M7 17l-1.4 1.4m12.8 0L17 17M7 7 5.6 5.6',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5Z',
  auto: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 0v18',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'm5 13 4 4L19 7',
  chevron: 'm9 6 6 6-6 6',
  close: 'M6 6l12 12M18 6 6 18',
  download: 'M12 4v11m0 0 4-4m-4 4-4-4M5 20h14',
  stop: 'M7 7h10v10H7z',
  send: 'M5 12h14m0 0-6-6m6 6-6 6',
  search: 'M11 5a6 6 0 1 0 0 12 6 6 0 0 0 0-12Zm9 15-4.5-4.5',
  loop: 'M4 12a8 8 0 0 1 14-5l2 2m0-5v5h-5M20 12a8 8 0 0 1-14 5l-2-2m0 5v-5h5',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
