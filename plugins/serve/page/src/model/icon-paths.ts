/** Icons as strokes on a field of 24 by 24. */
export const ICON_PATHS = {
  play: 'M8 5l11 7-11 7z',
  hand: 'M12 3v9l5 3M12 21a9 9 0 110-18 9 9 0 010 18z',
  bolt: 'M13 3L5 14h6l-1 7 8-11h-6z',
  cross: 'M6 6l12 12M18 6L6 18',
  check: 'M5 13l4 4L19 7',
  stop: 'M7 7h10v10H7z',
  tool: 'M14.5 6.5a4 4 0 005 5L11 20l-4-4 8.5-8.5z',
  thought: 'M9 18h6M10 21h4M12 3a6 6 0 00-4 10.5c.8.8 1 1.500 1 2.500h6c0-1 .2-1.700 1-2.500A6 6 0 0012 3z',
  bell: 'M6 16V11a6 6 0 0112 0v5l2 2H4zM10 21h4',
  tree: 'M6 4v14h5M6 9h5M14 6.500h6M14 18h6M14 11h6',
  chart: 'M5 20V11M12 20V4M19 20v-6',
  search: 'M10.500 4a6.500 6.500 0 110 13 6.500 6.500 0 010-13zM15.500 15.500L20 20',
  chevron: 'M9 6l6 6-6 6',
  mail: 'M4 6h16v12H4zM4 7l8 6 8-6',
  sun: 'M12 8a4 4 0 110 8 4 4 0 010-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M19 5l-2 2M7 17l-2 2',
  moon: 'M20 14A8 8 0 1110 4a7 7 0 0010 10z',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  send: 'M5 12h14M13 6l6 6-6 6',
  copy: 'M9 9h11v11H9zM5 15V4h11',
} as const

export type IconName = keyof typeof ICON_PATHS
