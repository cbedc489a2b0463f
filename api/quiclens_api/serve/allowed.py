"""What a statement may name when it comes over HTTP; everything else could reach past the store."""

import re


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Table functions that only make rows of nothing or of what stands in the statement. All others reach files,
# other hosts, programs, or tables past the checks (`merge`, `loop`, `eval`).
TABLE_FUNCTIONS = _names(
    """
    numbers numbers_mt zeros zeros_mt generate_series generateseries generaterandom values null primes view input
    """
)

# Of those, no use as an ordinary function is refused, since many are (`format`, `null`, `values`).
OTHER_TABLE_FUNCTIONS = _names(
    """
    arrowstream arrowflight azureblobstorage azureblobstoragecluster bigquery cluster clusterallreplicas cosn
    deltalake deltalakeazure deltalakeazurecluster deltalakecluster deltalakelocal deltalakes3 deltalakes3cluster
    dictionary eval executable file filecluster filesystem fuzzjson fuzzquery gcs hdfs hdfscluster hudi hudicluster
    iceberg icebergazure icebergazurecluster icebergcluster iceberghdfs iceberghdfscluster iceberglocal
    iceberglocalcluster icebergs3 icebergs3cluster jdbc loop mergetreeanalyzeindexes mergetreeindex
    mergetreeprojection mongodb mysql odbc oss paimon paimonazure paimoncluster paimonhdfs paimonlocal paimons3
    postgresql prometheusquery prometheusqueryrange python redis remote remotesecure s3 s3cluster sqlite
    timeseriesdata timeseriesselector url urlcluster viewexplain viewifpermitted ytsaurus
    """
)

# Ordinary functions that read files, ask other hosts, or tell about the machine or the request.
_FUNCTIONS = re.compile(
    r"ai(generate|extract|classify|translate|embed|filter|redact|similarity)\w*|catboost\w*|dictget\w*|dicthas|dictisin"
    r"|joinget\w*|filesystem\w*|getmacro|getserverport|getserversetting|getclienthttpheader|zookeeper\w*|fuzz\w+"
    r"|hascolumnintable|reversedns\w*|logtrace|trap|generateserialid|serveruuid|addressto\w*|demangle|showcertificate|getoskernelversion|executable\w*|currentrequesturl"
)

# Tables about what is stored and what the engine can do. Others tell of other people's queries, of users,
# credentials, folders and hosts.
SYSTEM_TABLES = _names(
    """
    aggregate_function_combinators build_options codecs collations columns constraints contributors
    data_skipping_index_types data_skipping_indices data_type_families databases documentation formats functions
    keywords licenses merge_tree_settings merges mutations numbers numbers_mt one parts parts_columns primes
    projection_parts projections settings table_engines table_functions tables time_zones zeros zeros_mt
    """
)
DATABASES = frozenset({"default", "system", "INFORMATION_SCHEMA", "information_schema"})

# Settings that open files, name hosts, run other SQL, or undo a check; and those that are the request's own business.
_SETTINGS = re.compile(
    r"(?:.*_)?(?:path|file|files|url|registry|credentials|python|eval|dialect|introspection|outfile|s3|azure|hdfs|fuzz"
    r"|profiler|jemalloc|disk|storage_policy|keeper|zookeeper|cluster|remote|kafka|iceberg|paimon|endpoint)(?:_.*)?"
    r"|additional_.*|ai_function.*|.*format_schema.*|output_format_schema|http_response_headers|default_table_engine"
    r"|default_temporary_table_engine|default_dictionary.*|readonly|profile|role|workload|function_implementation"
    r"|input_format_values_interpret_expressions|input_format_values_deduce.*|log_comment|allow_ddl|async_insert.*"
    r"|format_template_.*|http_allow_.*|implicit_.*|parallel_replicas_.*|promql_.*|stream_like_.*|default_view_definer"
    r"|database|select|filter|order|sort|format|input_format|output_format|framing_output_format|compression"
)
# Read often, harmless, and caught by the words above.
_HARMLESS = re.compile(r"max_bytes_before_.*|min_bytes_to_use_.*|.*_filesystem_read_method|temporary_files_codec")

FILTERS = "additional_table_filters"  # judged by what it says, see `judge`

# Most to allow: name of the setting, and of the limit in `Limits`.
CAPPED = {
    "max_execution_time": "seconds",
    "max_memory_usage": "memory_bytes",
    "max_result_rows": "result_rows",
    "max_result_bytes": "result_bytes",
}


def is_refused_function(name: str) -> bool:
    """Whether an ordinary function is refused, or is a table function that is."""
    lower = name.lower()
    return lower in OTHER_TABLE_FUNCTIONS or _FUNCTIONS.fullmatch(lower) is not None


def is_refused_setting(name: str) -> bool:
    lower = name.lower()
    return _SETTINGS.fullmatch(lower) is not None and _HARMLESS.fullmatch(lower) is None
