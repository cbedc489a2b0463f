// Which document each address of the API answers with.
import type * as documents from "./documents.js";

type OfAddress = {
  "/api/v1/requests": documents.SlowDocument;
  "/api/v1/over-time": documents.OverTimeDocument;
  "/api/v1/triage": documents.TriageDocument;
  "/api/v1/deployments": documents.DeploymentsDocument;
  "/api/v1/spent-over-time": documents.SpentDocument;
  "/api/v1/heat": documents.HeatDocument;
  "/api/v1/cells": documents.CellsDocument;
  "/api/v1/compare": documents.ComparedDocument;
  "/api/v1/different": documents.DifferentDocument;
};

/**
 * A series as it is drawn: a table has the columns of `exact`, or those of buckets, less what holds no value. Whoever draws
 * one looks whether its first column is there.
 */
export type Series = Omit<documents.SeriesDocument, "packets" | "metrics" | "frames" | "marks" | "limits"> & {
  packets: Required<documents.PacketColumns>;
  metrics: Required<documents.MetricColumns> & Record<string, any[]>;
  frames: Required<documents.FrameColumns>;
  marks: Required<documents.MarkColumns>;
  limits: Required<documents.LimitColumns>;
};

type OfConnection = {
  series: Series;
  events: documents.EventsDocument;
  episodes: documents.EpisodesDocument;
  streams: documents.StreamsDocument;
  counts: documents.CountsDocument;
};

/** Of `/api/v1/reports/NAME`, of `PATH/VIEW` of a connection, and of a connection's own address, which is any text. */
export type Answer<Path extends string> = Path extends keyof OfAddress
  ? OfAddress[Path]
  : Path extends `/api/v1/reports/${string}`
    ? documents.ReportDocument
    : Path extends `${string}/${infer View extends keyof OfConnection}`
      ? OfConnection[View]
      : documents.ConnectionDocument;
